package feedback

import "context"

// RepairNow looks at all edges of the journal at once.
func (s *Service) RepairNow(ctx context.Context) error { return s.repair(ctx) }
