package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAVectorIsReadOrToldWhatIsWrong(t *testing.T) {
	model := Vectors{Of: "all-minilm", Dim: 2}
	for _, c := range []struct {
		vectors     Vectors
		text, wrong string
	}{
		{model, "[0.5, -1]", ""},
		{Vectors{Of: "all-minilm"}, "[0.5, -1]", ""},
		{Vectors{}, "[0.5, -1]", "set embedding.way"},
		{model, "[0.5]", "the vector has 1 numbers, those of all-minilm have 2"},
		{model, "0.5, -1", "not a list"},
		{model, "[1e39, 0]", "not a list"},
		{model, "[0, 0]", "zero everywhere"},
		{Vectors{Of: "all-minilm"}, "[]", "zero everywhere"},
	} {
		x, err := c.vectors.read(c.text)
		if c.wrong == "" {
			require.NoError(t, err)
			require.Equal(t, []float32{.5, -1}, x)
			continue
		}
		require.ErrorContains(t, err, c.wrong)
	}
}
