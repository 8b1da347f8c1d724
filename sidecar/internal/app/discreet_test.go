package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
	"github.com/evorag/dgraph-evorag/sidecar/internal/embed"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// failing is a model that can't be asked.
type failing struct {
	proxy.Model
	err error
}

func (f failing) Embed(context.Context, string) (relevance.Dense, error) {
	return relevance.Dense{}, f.err
}

func TestWhatAModelSaidIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	for raw, public := range map[error]error{
		errors.New(`Post "http://10.0.0.7/v1": refused`):                          errModel,
		fmt.Errorf("%w: /var/lib/vectors.db: locked at 10.0.0.7", embed.ErrStore): errVectors,
		fmt.Errorf("%w: more than 1s", embed.ErrLate):                             nil,
	} {
		d := &discreet{Model: failing{err: raw}, now: func() time.Time { return now }, log: slog.New(slog.NewTextHandler(&log, nil))}
		log.Reset()
		for range 3 {
			_, err := d.Embed(t.Context(), "x")
			if public == nil {
				require.Equal(t, raw, err)
				continue
			}
			require.Equal(t, public, err)
		}
		if public == nil {
			require.Zero(t, log.Len())
			continue
		}
		require.Equal(t, 1, strings.Count(log.String(), "10.0.0.7"))
		now = now.Add(time.Minute)
		_, err := d.Embed(t.Context(), "x")
		require.Error(t, err)
		require.Equal(t, 2, strings.Count(log.String(), "10.0.0.7"))
	}
}
