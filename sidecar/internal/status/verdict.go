package status

import (
	"fmt"
	"time"
)

// From here on something wants looking after.
const (
	lagging = 60 * time.Second
	behind  = 5 * time.Minute
	stuck   = time.Hour // a run of evolution
)

// Judge fills in State and Problems from the other fields; now is the clock.
func (r *Report) Judge(now time.Time) {
	r.State, r.Problems = OK, []string{}
	say := func(s State, text string, args ...any) {
		if r.State != Failing {
			r.State = s
		}
		r.Problems = append(r.Problems, fmt.Sprintf(text, args...))
	}
	if r.Cluster.Error != "" {
		say(Failing, "Dgraph at %s doesn't answer: %s; look at the alpha and its log", r.Cluster.GRPC, r.Cluster.Error)
	}
	for _, n := range r.Cluster.Nodes {
		if n.Status != "healthy" {
			say(Degraded, "%s %s is %s; look at its log", n.Instance, n.Address, n.Status)
		}
	}
	switch m := r.Migrations; {
	case m.Error != "":
		say(Failing, "the migrations can't be read: %s; run dgraph-evorag doctor", m.Error)
	case m.Pending > 0:
		say(Failing, "%d migrations are still to run; run dgraph-evorag migrate up", m.Pending)
	}
	r.judgeCache(say)
	r.judgeFeedback(say)
	r.judgeEvolution(now, say)
	for _, m := range r.Models {
		if !m.OK {
			say(Degraded, "the %s model %s at %s is not to be had: %s", m.Purpose, m.Name, m.URL, m.Error)
		}
	}
}

func (r *Report) judgeCache(say func(State, string, ...any)) {
	c := r.Cache
	switch {
	case c.Mode != "on":
	case c.State == "too large":
		say(Degraded, "the graph is larger than the cache, which holds a part of it; searches read the rest from the cluster; raise cache.memory_mb")
	case c.State == "failing":
		say(Degraded, "the cache can't read the cluster; see the log")
	case c.BehindSec > behind.Seconds():
		say(Degraded, "the cache is %.0f s behind the cluster; see the log", c.BehindSec)
	}
}

func (r *Report) judgeFeedback(say func(State, string, ...any)) {
	f := r.Feedback
	switch {
	case f.Error != "":
		say(Failing, "the state of feedback can't be read: %s", f.Error)
	case f.Pending > 0 && f.LagSec > lagging.Seconds():
		say(Degraded, "%d ratings are still to be applied, the oldest for %.0f s; see the log", f.Pending, f.LagSec)
	}
}

func (r *Report) judgeEvolution(now time.Time, say func(State, string, ...any)) {
	switch e := r.Evolution; {
	case e.Error != "":
		say(Degraded, "the runs of evolution can't be read: %s", e.Error)
	case e.Last != nil && e.Last.Ended == nil && now.Sub(e.Last.Began) > stuck:
		say(Degraded, "run %s has been %s since %s; see the log of the sidecar that holds the lease", e.Last.ID, e.Last.State, e.Last.Began.UTC().Format(time.RFC3339))
	}
}
