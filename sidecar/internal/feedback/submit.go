package feedback

import "context"

// Submit takes a rating that was made in this process, such as a judge's. It returns once
// the rating is stored; the error says what is wrong with it.
func (s *Service) Submit(ctx context.Context, e Event) error {
	if err := s.admit(e); err != nil {
		return err
	}
	return s.store(ctx, []Event{e})
}
