package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Offline is a new cluster that holds nothing but the evorag schema: what Run writes into it
// goes to two files, for dgraph bulk. Flush ends it.
type Offline struct {
	mu     sync.Mutex
	rdf    *bufio.Writer
	schema *bufio.Writer
	last   graph.UID // given out
}

// NewOffline writes N-Quads to rdf, and to schema today's schema of the extension's state
// with the predicates that Run defines.
func NewOffline(rdf, schema io.Writer, today string) (*Offline, error) {
	o := &Offline{rdf: bufio.NewWriterSize(rdf, 1<<20), schema: bufio.NewWriter(schema)}
	_, err := o.schema.WriteString(today)
	return o, err
}

// Flush writes what is still buffered.
func (o *Offline) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.rdf.Flush(), o.schema.Flush())
}

// OwnSchema names the one predicate by which Run knows a cluster that is migrated.
func (o *Offline) OwnSchema(context.Context) (graph.Schema, error) {
	const label = "evorag.relation.label"
	return graph.Schema{Predicates: map[string]graph.PredicateSchema{label: {Name: label, Type: "string"}}}, nil
}

// Alter adds to the schema. The tokenizer plugin is refused, as by an engine without it: dgraph
// bulk isn't given it.
func (o *Offline) Alter(_ context.Context, schema string) error {
	if strings.Contains(schema, entityTokenizer) {
		return fmt.Errorf("Invalid tokenizer %s", entityTokenizer)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.schema.WriteString(schema)
	return err
}

// Read finds nothing.
func (o *Offline) Read(context.Context, string, map[string]string) ([]byte, error) {
	return []byte("{}"), nil
}

// RunTx runs fn once; what it sets can't be taken back.
func (o *Offline) RunTx(ctx context.Context, fn func(context.Context, graph.Tx) error) error {
	return fn(ctx, offlineTx{o})
}

type offlineTx struct{ *Offline }

// Query finds nothing.
func (tx offlineTx) Query(ctx context.Context, text string, vars map[string]string) ([]byte, error) {
	return tx.Read(ctx, text, vars)
}

// Set writes the N-Quads, with uids in place of the blank nodes that lines begin with.
func (tx offlineTx) Set(_ context.Context, nquads []byte) (map[string]graph.UID, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	given := map[string]graph.UID{}
	for line := range bytes.Lines(nquads) {
		if rest, blank := bytes.CutPrefix(line, []byte("_:")); blank {
			label, rest, _ := bytes.Cut(rest, []byte(" "))
			uid, ok := given[string(label)]
			if !ok {
				tx.last++
				uid = tx.last
				given[string(label)] = uid
			}
			fmt.Fprintf(tx.rdf, "<%s> ", uid)
			line = rest
		}
		if _, err := tx.rdf.Write(line); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// Delete is nothing that a load does.
func (tx offlineTx) Delete(context.Context, []byte) error {
	return errors.New("nothing can be deleted from a cluster that is only being written")
}

// Commit is Set; there is nothing to delete.
func (tx offlineTx) Commit(ctx context.Context, deletes, sets, last []byte) (map[string]graph.UID, error) {
	if len(deletes)+len(last) > 0 {
		return nil, tx.Delete(ctx, deletes)
	}
	return tx.Set(ctx, sets)
}
