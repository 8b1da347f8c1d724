package feedback

import "context"

// Altered is called after whatever may have dropped data through the front. It doesn't wait.
func (s *Service) Altered() {
	select {
	case s.altered <- struct{}{}:
	default: // told already
	}
}

// look reads the model, as another replica may have learned, and notices where data were dropped: a
// retrieval that was stored is gone (altered says when to look), or the journal begins anew. Ratings
// of retrievals that went can never be applied; they are void from now on. Where only edges
// went, what a rating would have done to them is void, edge by edge, like all edges that are missing.
func (s *Service) look(ctx context.Context, before model, altered bool) (model, error) {
	now, err := s.loadModel(ctx)
	if err != nil {
		return before, err
	}
	dropped := before.UID != 0 && (now.UID != before.UID || now.Batches < before.Batches)
	if id := s.memory.stored(); id != "" && (altered || dropped) {
		s.memory.forget()
		known, err := s.memory.find(ctx, map[string]bool{id: false})
		if err != nil {
			return before, err
		}
		dropped = dropped || len(known) == 0
	}
	if dropped {
		s.dropped.Store(s.Now().UnixNano())
		s.Log.Warn("data were dropped: ratings of retrievals that went with them have no effect")
	}
	return now, nil
}
