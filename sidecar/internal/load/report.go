package load

import "time"

// Report is what a load did, or with DryRun would do.
type Report struct {
	Triplets  int     // read well
	Bad       int     // lines that were not
	FirstBad  []error // the first of them, each a *triplefile.LineError
	Doubles   int     // triplets said more than once
	Entities  Count
	Ambiguous int // names that several nodes have; the one with the lowest uid was taken
	Edges     Count
	Values    Count
	Relations []Relation // sorted by predicate
	Elapsed   time.Duration
}

// Count tells what was new from what the cluster had.
type Count struct{ New, Existing int }

// Rate is triplets a second.
func (r Report) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Triplets) / r.Elapsed.Seconds()
}

// The phases of a load, in order.
const (
	PhaseRead       = "reading"    // counted in bytes of the files
	PhasePredicates = "predicates" // relations mapped and defined, all at once
	PhaseEntities   = "entities"   // nodes looked up or created
	PhaseEdges      = "edges"      // edges and values looked up or written
)

// Progress is how far a phase is.
type Progress struct {
	Phase     string
	Done      int64
	Total     int64 // 0 where it is not known, as for stdin
	Rate      float64
	Remaining time.Duration // of this phase; 0 where it is not known
}

const maxFirstBad = 20

func (r *Report) bad(err error) {
	r.Bad++
	if len(r.FirstBad) < maxFirstBad {
		r.FirstBad = append(r.FirstBad, err)
	}
}

const tick = 200 * time.Millisecond

// meter tells progress when a phase begins, at most every tick within it, and when it ends.
// A meter without a callback is silent.
type meter struct {
	tell        func(Progress)
	now         func() time.Time
	p           Progress
	start, last time.Time
}

func (m *meter) begin(phase string, total int64) {
	m.p, m.start = Progress{Phase: phase, Total: total}, m.now()
	m.last = m.start
	m.send(m.start)
}

func (m *meter) set(done int64) {
	m.p.Done = done
	if now := m.now(); now.Sub(m.last) >= tick {
		m.last = now
		m.send(now)
	}
}

func (m *meter) end() { m.send(m.now()) }

func (m *meter) send(now time.Time) {
	if m.tell == nil {
		return
	}
	if passed := now.Sub(m.start).Seconds(); passed > 0 {
		m.p.Rate = float64(m.p.Done) / passed
	}
	m.p.Remaining = 0
	if m.p.Rate > 0 && m.p.Total > m.p.Done {
		m.p.Remaining = time.Duration(float64(m.p.Total-m.p.Done) / m.p.Rate * float64(time.Second))
	}
	m.tell(m.p)
}
