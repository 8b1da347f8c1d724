package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// read reads a vector such as "[0.1, 0.2]".
func (v Vectors) read(text string) ([]float32, error) {
	var x []float32
	switch err := json.Unmarshal([]byte(text), &x); {
	case v.Of == "":
		return nil, errors.New("this sidecar ranks by words, which have no use for a vector; write query: $question, or set embedding.way to composed or triplet")
	case err != nil:
		return nil, errors.New(`not a list of numbers; write one like "[0.1, 0.2]"`)
	case v.Dim != 0 && len(x) != v.Dim:
		return nil, fmt.Errorf("the vector has %d numbers, those of %s have %d; write the question's vector of that model", len(x), v.Of, v.Dim)
	case !slices.ContainsFunc(x, func(f float32) bool { return f != 0 }):
		return nil, errors.New("the vector is zero everywhere; write one with a direction")
	}
	return x, nil
}
