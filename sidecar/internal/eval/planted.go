package eval

// PlantedCases is a placeholder
type PlantedCases struct{}

// Refined x
type Refined struct{}

// BatchTime x
type BatchTime struct{}

// Chunks x
type Chunks struct{}

// AnswerTime x
type AnswerTime struct{}

func (r *Report) planted() section { return section{} }
func (r *Report) refined() section { return section{} }
func (r *Report) batches() section { return section{} }
func (r *Report) chunks() section  { return section{} }
func (r *Report) answers() section { return section{} }
