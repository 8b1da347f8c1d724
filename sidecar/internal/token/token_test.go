package token_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evorag/dgraph-evorag/sidecar/internal/token"
)

func signer(t require.TestingT, fill byte) *token.Signer {
	s, err := token.NewSigner(bytes.Repeat([]byte{fill}, 32))
	require.NoError(t, err)
	return s
}

func TestAnIDTellsItsNamespaceAndTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signer(t, 1)
		want := token.ID{
			Namespace: rapid.Uint64().Draw(t, "namespace"),
			Time:      time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "ms")),
		}
		text := s.New(want.Namespace, want.Time)
		require.Len(t, text, 64)
		got, err := s.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NotEqual(t, text, s.New(want.Namespace, want.Time), "two ids of one moment differ")
	})
}

func TestAForgedIDIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := signer(t, 1)
		text := []byte(s.New(7, time.UnixMilli(1)))
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		other := rapid.SampledFrom([]byte("ABCabc019-_")).Filter(func(c byte) bool { return c != text[at] }).Draw(t, "char")
		text[at] = other
		_, err := s.Parse(string(text))
		require.ErrorIs(t, err, token.ErrForged)
	})
	for name, text := range map[string]string{
		"empty":            "",
		"not base64":       "!!",
		"of another key":   signer(t, 2).New(7, time.UnixMilli(1)),
		"with a tail":      signer(t, 1).New(7, time.UnixMilli(1)) + "A",
		"of another shape": "0x2a",
	} {
		_, err := signer(t, 1).Parse(text)
		require.ErrorIs(t, err, token.ErrForged, name)
	}
}

func TestAShortKeyIsRefused(t *testing.T) {
	_, err := token.NewSigner([]byte("short"))
	require.ErrorContains(t, err, "too short")
}
