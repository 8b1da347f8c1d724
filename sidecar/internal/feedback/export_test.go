package feedback

import "context"

// RepairNow looks at all edges of the journal at once.
func (s *Service) RepairNow(ctx context.Context) error { return s.repair(ctx) }

// Failing is how many ratings could not be applied when they were last tried. Only after Run has ended.
func (s *Service) Failing() int { return len(s.failures) }
