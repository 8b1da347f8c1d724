package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/evorag/dgraph-evorag/plugin/graph"
	"github.com/evorag/dgraph-evorag/queries"
)

const (
	inboxGroup = 256                  // events stored in one transaction
	linger     = 2 * time.Millisecond // for more of them
)

// errClosed is returned for deliveries that come while the sidecar stops.
var errClosed = errors.New("the sidecar is stopping; send it again")

// inbox stores deliveries. Those that come while one transaction is under way are stored
// together by the next: each sender still hears of his only after the commit.
type inbox struct {
	*Service
	queue chan *parcel
	done  chan struct{}

	coming atomic.Int64 // deliveries that are to be stored
}

// parcel is one delivery on its way into the cluster.
type parcel struct {
	events []Event
	err    error
	stored chan struct{} // closed when err is set
	from   trace.SpanContext
}

func newInbox(s *Service) *inbox {
	return &inbox{Service: s, queue: make(chan *parcel, 1024), done: make(chan struct{})}
}

// store returns when the events are committed. Those whose ids are known already are not
// stored again.
func (b *inbox) store(ctx context.Context, events []Event) error {
	b.coming.Add(1)
	defer b.coming.Add(-1)
	p := &parcel{events: events, stored: make(chan struct{}), from: trace.SpanContextFromContext(ctx)}
	select {
	case b.queue <- p:
	case <-b.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p.stored:
		return p.err
	case <-b.done:
		select { // it may have been among the last
		case <-p.stored:
			return p.err
		default:
			return errClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *inbox) run(ctx context.Context) {
	defer close(b.done)
	for {
		select {
		case <-ctx.Done():
			last, cancel := afterwards(ctx)
			defer cancel()
			for len(b.queue) > 0 {
				b.write(last, b.group(<-b.queue))
			}
			return
		case p := <-b.queue:
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			b.write(limited, b.group(p))
			cancel()
		}
	}
}

// group takes along what is there, and what comes within linger: senders who have just got
// their answer send the next.
func (b *inbox) group(first *parcel) []*parcel {
	group, events := []*parcel{first}, len(first.events)
	patience := time.NewTimer(linger)
	defer patience.Stop()
	for events < inboxGroup {
		select {
		case p := <-b.queue:
			group, events = append(group, p), events+len(p.events)
		case <-patience.C:
			return group
		}
	}
	return group
}

// write stores a group in one transaction, counts it and tells the senders.
func (b *inbox) write(ctx context.Context, group []*parcel) {
	ctx, end := b.traceStage(ctx, "store", trace.WithLinks(deliveries(group)...))
	stored, known, err := b.commit(ctx, group)
	end(err)
	if err == nil {
		b.Meter.Feedback("received", len(stored))
		b.Meter.Feedback("duplicate", known)
		b.backlog.Add(int64(len(stored)))
	}
	for _, p := range group {
		p.err = err
		close(p.stored)
	}
	if err == nil {
		b.fresh.add(stored)
	}
}

// deliveries are the spans of those who wait.
func deliveries(group []*parcel) (links []trace.Link) {
	for _, p := range group {
		if p.from.IsValid() {
			links = append(links, trace.Link{SpanContext: p.from})
		}
	}
	return links
}

// commit stores each event whose id is not known yet, gives those, and says how many were known. The ids are @upsert: of two requests
// that store the same id one is aborted, and finds it known when it tries again. Nearly always
// all are new, which one condition tells; where it doesn't hold each event has its own.
func (b *inbox) commit(ctx context.Context, group []*parcel) (fresh []stored, known int, err error) {
	received := b.Now().UTC().Round(0)
	var ids []string
	var each []graph.Conditional
	var all []byte
	var query strings.Builder
	seen := map[string]bool{}
	for _, p := range group {
		for _, e := range p.events {
			if seen[e.ID] {
				known++
				continue
			}
			seen[e.ID] = true
			n := len(ids)
			at := received.Add(time.Duration(n)) // so that the last of several ratings of one rater counts
			nquads, err := appendEvent(nil, "_:"+blank(n), e, at)
			if err != nil {
				return nil, 0, err
			}
			fresh = append(fresh, stored{received: at, Event: e})
			ids, all = append(ids, graph.Quote(e.ID)), append(all, nquads...)
			fmt.Fprintf(&query, "  %s as var(func: eq(evorag.feedback.id, %s))\n", blank(n), ids[n])
			each = append(each, graph.Conditional{If: "@if(eq(len(" + blank(n) + "), 0))", Set: nquads})
		}
	}
	uids, err := b.Store.Upsert(ctx, "{ known as var(func: eq(evorag.feedback.id, ["+strings.Join(ids, ", ")+"])) }",
		[]graph.Conditional{{If: "@if(eq(len(known), 0))", Set: all}})
	if err == nil && len(uids) == 0 {
		uids, err = b.Store.Upsert(ctx, "{\n"+query.String()+"}", each)
	}
	if err != nil {
		return nil, 0, err
	}
	return storedOnes(fresh, uids), known + len(ids) - len(uids), nil
}

// blank names the node of the n-th event of a group.
func blank(n int) string { return "e" + strconv.Itoa(n) }

// storedOnes are the events whose blank nodes were given uids, with these.
func storedOnes(events []stored, uids map[string]graph.UID) (out []stored) {
	for n, e := range events {
		if uid, ok := uids[blank(n)]; ok {
			e.uid = uid.String()
			out = append(out, e)
		}
	}
	return out
}

func appendEvent(b []byte, subject string, e Event, received time.Time) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(b, `%[1]s <evorag.feedback.id> %[2]s .
%[1]s <evorag.feedback.key> %[3]s .
%[1]s <evorag.feedback.status> "pending" .
%[1]s <evorag.feedback.received> "%[4]s" .
%[1]s <evorag.feedback.body> %[5]s .
`, subject, graph.Quote(e.ID), graph.Quote(e.Key()), received.Format(time.RFC3339Nano), graph.Quote(string(body))), nil
}

// countBacklog looks how many ratings are to be applied, by all replicas together.
func (s *Service) countBacklog(ctx context.Context) error {
	data, err := s.read(ctx, queries.Text("feedback_count"), nil)
	if err != nil {
		return err
	}
	var answer struct {
		Pending []struct {
			Count int `json:"count"`
		} `json:"pending"`
		Oldest []struct {
			Received time.Time `json:"received"`
		} `json:"oldest"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	n := 0
	for _, p := range answer.Pending {
		n += p.Count
	}
	s.backlog.Store(int64(n))
	var age time.Duration
	for _, o := range answer.Oldest {
		if !o.Received.IsZero() {
			age = max(0, s.Now().Sub(o.Received))
		}
	}
	s.Meter.Backlog(n, age)
	return nil
}

// listed is the query of that name with the list filled in. An empty one is left as it is: it
// matches nothing, and Dgraph knows no empty list.
func listed(name string, values []string) string {
	if len(values) == 0 {
		return queries.Text(name)
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = graph.Quote(v)
	}
	return strings.Replace(queries.Text(name), `[""]`, "["+strings.Join(quoted, ", ")+"]", 1)
}
