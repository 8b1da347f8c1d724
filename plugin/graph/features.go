package graph

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
)

// Features is what of a question the learned weights look at: a sparse vector x of unit
// length. Index is strictly ascending, Weight[i] belongs to Index[i].
type Features struct {
	Index  []uint16
	Weight []float32
}

// featureBytes is what one feature takes in MarshalText, before base64.
const featureBytes = 6

// MarshalText gives base64 of the features, each its index and the bits of its weight, with
// the most significant byte first. It reads back equal.
func (f Features) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, featureBytes*len(f.Index))
	for i, x := range f.Index {
		raw = binary.BigEndian.AppendUint16(raw, x)
		raw = binary.BigEndian.AppendUint32(raw, math.Float32bits(f.Weight[i]))
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads what MarshalText writes.
func (f *Features) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(raw)%featureBytes != 0 {
		return errors.New("the features of a question are not readable")
	}
	*f = Features{}
	for ; len(raw) > 0; raw = raw[featureBytes:] {
		f.Index = append(f.Index, binary.BigEndian.Uint16(raw))
		f.Weight = append(f.Weight, math.Float32frombits(binary.BigEndian.Uint32(raw[2:])))
	}
	return nil
}
