package eval

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// batchSizes are the numbers of ratings that the sidecar applies at once.
var batchSizes = []int{1, 5, 20, 50, 100}

// BatchTime is the time of the forward and the backward half for one batch size (Figure 13), on
// a graph of a given size (Figure 15).
type BatchTime struct {
	Set      string  `json:"set"`
	Triples  int     `json:"triples"`
	Batch    int     `json:"batch"`
	Ratings  int     `json:"ratings"`
	Forward  float64 `json:"forward_ms"`     // the sidecar's own time for a retrieval, mean
	Backward float64 `json:"backward_ms"`    // to evaluate and apply a rating, mean
	Share    float64 `json:"backward_share"` // of both
	Elapsed  float64 `json:"ratings_per_second"`
}

// batches asks and rates the same questions with each batch size.
func (r *runner) batches(ctx context.Context, train []Question, triples int) (out []BatchTime, err error) {
	for _, size := range batchSizes {
		one, err := r.batch(ctx, train, size)
		if err != nil {
			return out, fmt.Errorf("batches of %d: %w", size, err)
		}
		one.Triples = triples
		out = append(out, one)
		r.Progress("%-16s batches of %-3d  retrieval %.1f ms, learning %.2f ms a rating", r.set.Name, size, one.Forward, one.Backward)
	}
	return out, nil
}

func (r *runner) batch(ctx context.Context, train []Question, size int) (out BatchTime, err error) {
	out = BatchTime{Set: r.set.Name, Batch: size}
	if err := r.cluster.Reset(ctx); err != nil {
		return out, err
	}
	base, stop, err := r.cluster.Serve(ctx, map[string]string{"feedback.batch": fmt.Sprint(size), "feedback.most": fmt.Sprint(size), "feedback.wait": "1s"})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c := newClient(base)
	defer c.http.CloseIdleConnections()
	if err := ready(ctx, c); err != nil {
		return out, err
	}
	one := *r
	one.Concurrency = 1 // what a call costs, not what waiting for others does
	examples, err := one.examples(ctx, c, train, Arm{})
	if err != nil || len(examples) == 0 {
		return out, err
	}
	for _, e := range examples {
		out.Forward += float64(e.found.Timings.Total) / float64(len(examples))
	}
	began := time.Now()
	err = r.each(ctx, len(examples), func(ctx context.Context, i int) error {
		e := examples[i]
		e.score = 5
		return c.rate(ctx, Arm{}.rating(e, fmt.Sprintf("%s:%s:batch:%d:%d", r.id, r.set.Name, size, i)))
	})
	if err == nil {
		err = applied(ctx, c, len(examples))
	}
	if err != nil {
		return out, err
	}
	out.Elapsed = float64(len(examples)) / time.Since(began).Seconds()
	m, err := c.metrics(ctx)
	if err != nil {
		return out, err
	}
	out.Ratings = len(examples)
	out.Backward = 1000 * m["dgraph_evorag_feedback_batch_seconds_sum"] / float64(len(examples))
	out.Share = out.Backward / (out.Backward + out.Forward)
	return out, nil
}

// batches is the part of the report about them.
func (r *Report) batches() section {
	s := section{ID: "batches", Title: "Forward and backward time (Figures 13 and 15)", Text: "Forward: the sidecar's own time for one retrieval. Backward: to evaluate and apply one rating, in batches of a size. Figures of a busy machine: read them as ratios."}
	t := table{Head: []string{"set", "triplets", "batch", "ratings", "retrieval, ms", "learning, ms a rating", "share of learning", "ratings a second"}}
	var groups []string
	forward, backward := series{Name: "retrieval"}, series{Name: "learning"}
	flush := func(set string) {
		if len(groups) > 0 {
			name := set + ": ms a question"
			s.Charts = append(s.Charts, chart{name, columns(name, "ms", groups, []series{forward, backward})})
		}
		groups, forward.Y, backward.Y = nil, nil, nil
	}
	set := ""
	for _, b := range r.Batches {
		if b.Set != set {
			flush(set)
			set = b.Set
		}
		groups, forward.Y, backward.Y = append(groups, fmt.Sprint(b.Batch)), append(forward.Y, b.Forward), append(backward.Y, b.Backward)
		t.Rows = append(t.Rows, []string{b.Set, fmt.Sprint(b.Triples), fmt.Sprint(b.Batch), fmt.Sprint(b.Ratings), fmt.Sprintf("%.1f", b.Forward), fmt.Sprintf("%.2f", b.Backward), percent(b.Share), fmt.Sprintf("%.0f", b.Elapsed)})
	}
	flush(set)
	if len(t.Rows) > 0 {
		s.Tables = []table{t}
	}
	return s
}
