package feedback

import "context"

// Where data were dropped, ratings of retrievals that went can never be applied: they are void
// from then on. Where only edges went, what a rating would have done to them is void, edge by
// edge, like all edges that are missing.

// Altered is called after whatever may have dropped data through the front. Ratings that come
// later are applied only after a look at what is left.
func (s *Service) Altered() { s.altered.Store(true) }

// lookAfterAlter tells by a retrieval that was stored whether data were dropped.
func (s *Service) lookAfterAlter(ctx context.Context) error {
	if !s.altered.Swap(false) {
		return nil
	}
	id := s.memory.stored()
	s.memory.forget()
	if id == "" {
		return nil
	}
	known, err := s.memory.find(ctx, map[string]bool{id: false})
	switch {
	case err != nil:
		s.altered.Store(true)
	case len(known) == 0:
		s.noteDrop()
	}
	return err
}

// noteIfNew notes a drop around the front: the journal begins anew.
func (s *Service) noteIfNew(before, now model) {
	if before.UID != 0 && (now.UID != before.UID || now.Batches < before.Batches) {
		s.memory.forget()
		s.noteDrop()
	}
}

func (s *Service) noteDrop() {
	s.dropped.Store(s.Now().UnixNano())
	s.Log.Warn("data were dropped: ratings of retrievals that went with them have no effect")
}
