package feedback

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/plugin/rank"
	"github.com/evorag/dgraph-evorag/queries"
	"github.com/evorag/dgraph-evorag/sidecar/internal/facet"
)

// model is what was learned besides the edges' scores. Every batch writes its number: of two
// batches that read the same number one is aborted, so all batches are one sequence.
type model struct {
	UID     graph.UID `json:"uid"`
	Alpha   *float64  `json:"alpha"`
	Batches int       `json:"batches"` // number of the newest batch
	Reset   int       `json:"reset"`   // what came up to this batch was forgotten
	Folded  int       `json:"folded"`  // up to this batch the weights are written down as vectors
}

// alpha is the learned one, else the one before any feedback.
func (m model) alpha(initial float64) float64 {
	if m.Alpha != nil {
		return *m.Alpha
	}
	return initial
}

// appendTo appends the N-Quads that write the model.
func (m model) appendTo(b []byte) []byte {
	subject := "_:model"
	if m.UID != 0 {
		subject = "<" + m.UID.String() + ">"
	}
	b = fmt.Appendf(b, `%[1]s <dgraph.type> "evorag.Model" .
%[1]s <evorag.model.name> "default" .
%[1]s <evorag.model.batches> "%[2]d" .
%[1]s <evorag.model.reset> "%[3]d" .
`, subject, m.Batches, m.Reset)
	if m.Alpha != nil {
		b = fmt.Appendf(b, "%s <evorag.model.alpha> \"%s\" .\n", subject, facet.Float(*m.Alpha))
	}
	return b
}

// appendFolded appends the N-Quads that say up to where weights are written down.
func (m model) appendFolded(b []byte) []byte {
	subject := "_:model"
	if m.UID != 0 {
		subject = "<" + m.UID.String() + ">"
	}
	return fmt.Appendf(b, "%s <evorag.model.folded> \"%d\" .\n", subject, m.Folded)
}

func readModel(ctx context.Context, query facet.Query) (model, error) {
	data, err := query(ctx, queries.Text("model"), nil)
	if err != nil {
		return model{}, err
	}
	var answer struct {
		Model []model `json:"model"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return model{}, fmt.Errorf("reading the model: %w", err)
	}
	if len(answer.Model) == 0 {
		return model{}, nil
	}
	return answer.Model[0], nil
}

// noteModel has rankings use a model's alpha, unless they use a newer one of the same model already: one
// that was read may be older than one that was applied meanwhile.
func (s *Service) noteModel(m model) {
	for {
		now := s.learned.Load()
		if now != nil && now.UID == m.UID && now.Batches > m.Batches || s.learned.CompareAndSwap(now, &m) {
			return
		}
	}
}

// clampAlpha keeps alpha in its range, equation (9), and in steps that every engine prints.
func clampAlpha(a float64) float64 {
	return graph.RoundScore(max(rank.MinAlpha, min(rank.MaxAlpha, a)))
}

// clampScore keeps a raw score in its range, equation (8), and in steps that every engine prints.
func clampScore(raw float64) float64 { return graph.RoundScore(max(0, min(graph.MaxScore, raw))) }
