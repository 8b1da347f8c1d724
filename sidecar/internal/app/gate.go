package app

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/config"
	"github.com/evorag/dgraph-evorag/sidecar/internal/dgraph"
	"github.com/evorag/dgraph-evorag/sidecar/internal/evolution"
	"github.com/evorag/dgraph-evorag/sidecar/internal/feedback"
	"github.com/evorag/dgraph-evorag/sidecar/internal/proxy"
)

// heldOut chooses the retrievals whose ratings are not learned from but kept to check evolution
// with, by their ids: all replicas choose the same. nil where the gate is off.
func heldOut(e config.Evolution) func(retrieval string) bool {
	if e.Gate != "on" {
		return nil
	}
	return func(retrieval string) bool {
		h := sha256.Sum256([]byte(retrieval))
		return float64(binary.BigEndian.Uint64(h[:8])) < e.HeldOut*math.MaxUint64
	}
}

// praised gives held-out good ratings with a way to ask their questions again, as the sidecar
// itself, from the same nodes and over as many hops.
func praised(learning *feedback.Service, p *proxy.Proxy, client *dgraph.Client) (func(context.Context, int) ([]evolution.Praised, error), error) {
	o := p.Options
	o.Remember, o.Observe = nil, nil // nobody sees these answers, and nobody rates them
	p, err := proxy.New(o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, most int) ([]evolution.Praised, error) {
		held, err := learning.HeldOut(ctx, most)
		if err != nil {
			return nil, err
		}
		out := make([]evolution.Praised, len(held))
		for i, h := range held {
			out[i] = evolution.Praised{ID: h.Retrieval.ID, Paths: h.Paths, Ask: func(ctx context.Context) ([]graph.Path, error) {
				again := askedAgain(h.Retrieval, h.Paths)
				var err error
				if again.Credentials, err = client.Credentials(ctx); err != nil {
					return nil, err
				}
				got, err := p.Retrieve(ctx, again)
				if err != nil {
					return nil, err
				}
				return got.Paths(), nil
			}}
		}
		return out, nil
	}, nil
}

// askedAgain asks the question of a retrieval from its start nodes; of more than a request may give,
// from those of the praised paths and of the best results.
func askedAgain(r graph.Retrieval, praised []graph.Path) proxy.RetrieveRequest {
	again := proxy.RetrieveRequest{Question: r.Question, Hops: 1}
	seen := map[graph.UID]bool{}
	from := func(u graph.UID) {
		if !seen[u] && len(seen) < proxy.MostEntities {
			seen[u] = true
			again.Entities = append(again.Entities, u.String())
		}
	}
	for _, p := range praised {
		from(p.Start)
	}
	for _, result := range r.Results {
		from(result.Start.UID)
		for _, in := range result.Instances {
			again.Hops = max(again.Hops, len(in.Triplets))
		}
	}
	return again
}
