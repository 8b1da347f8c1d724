package feedback

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRankingsUseTheAlphaOfTheNewestBatch(t *testing.T) {
	s := &Service{}
	alpha := func(a float64) *float64 { return &a }
	none := (*float64)(nil)
	for _, step := range []struct {
		name string
		m    model
		want *float64
	}{
		{"before any feedback", model{}, none},
		{"the first batch makes the model", model{Batches: 1, Alpha: alpha(.51)}, alpha(.51)},
		{"what was read before it", model{}, alpha(.51)},
		{"a later batch", model{UID: 1, Batches: 7, Alpha: alpha(.6)}, alpha(.6)},
		{"what was read before that", model{UID: 1, Batches: 6, Alpha: alpha(.59)}, alpha(.6)},
		{"a reset takes a number", model{UID: 1, Batches: 8}, none},
		{"another replica has learned", model{UID: 1, Batches: 9, Alpha: alpha(.7)}, alpha(.7)},
		{"all was dropped", model{}, none},
		{"and is learned anew", model{UID: 2, Batches: 2, Alpha: alpha(.52)}, alpha(.52)},
	} {
		s.noteModel(step.m)
		got, ok := s.LearnedAlpha(0)
		require.Equal(t, step.want != nil, ok, step.name)
		if ok {
			require.Equal(t, *step.want, got, step.name)
		}
	}
}
