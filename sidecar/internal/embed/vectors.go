// Package embed keeps the vectors of texts that an embeddings model gave: in memory within a
// budget, and on local disk. It asks the model ahead (Index) or in the background (Run); within a
// query only the question itself is sent.
package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Model gives the vectors of texts, in their order, and what they cost in tokens.
type Model interface {
	Name() string // of all that the vectors depend on
	Embed(ctx context.Context, texts []string) (vectors [][]float32, tokens int, err error)
}

// Options of Vectors; all but Lazy are needed.
type Options struct {
	Model    Model
	Store    *Store
	Memory   int64         // bytes of vectors to hold; those beyond count as if there were none
	Batch    int           // texts in one call of the model
	Question time.Duration // longest wait for a question's vector
	Lazy     bool          // Run asks the model for what Want has named
	Now      func() time.Time
	Log      *slog.Logger
}

// Vectors are those of one model. Safe for concurrent use.
type Vectors struct {
	Options
	mu   sync.RWMutex
	rows relevance.Rows
	of   map[Key]uint32
	full bool // the budget is used up

	version   atomic.Uint64 // grows with the rows
	questions questions
	wanted    wanted
}

// keyBytes is what the map takes for a key and a row, about.
const keyBytes = 40

// New makes Vectors that hold nothing yet.
func New(o Options) *Vectors {
	return &Vectors{Options: o, of: map[Key]uint32{}, questions: questions{known: map[string]relevance.Dense{}}, wanted: newWanted()}
}

// Name is the model's.
func (v *Vectors) Name() string { return v.Model.Name() }

// Rows gives the rows of texts, in their order, with the vectors they are of. Vectors that are on
// disk only are read; a text without one has NoRow. An error is the disk's: then texts whose
// vectors are not in memory have NoRow too.
func (v *Vectors) Rows(texts []string) (rows relevance.Rows, of []uint32, err error) {
	of = make([]uint32, len(texts))
	keys := make([]Key, len(texts))
	missing := map[Key]bool{}
	v.mu.RLock()
	for i, text := range texts {
		keys[i] = KeyOf(text)
		if of[i] = v.of[keys[i]]; of[i] == relevance.NoRow && text != "" && !v.full {
			missing[keys[i]] = true
		}
	}
	rows = v.rows
	v.mu.RUnlock()
	if len(missing) == 0 {
		return rows, of, nil
	}
	absent := make([]Key, 0, len(missing))
	for k := range missing {
		absent = append(absent, k)
	}
	found, err := v.Store.Get(absent)
	if err != nil || !v.hold(absent, found) {
		return rows, of, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i, k := range keys {
		of[i] = v.of[k]
	}
	return v.rows, of, nil
}

// hold takes vectors into memory, as many as the budget has room for; false where it took none.
func (v *Vectors) hold(keys []Key, vectors []relevance.Dense) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	took, other := 0, 0
	for i, d := range vectors {
		if _, known := v.of[keys[i]]; known || d.None() {
			continue
		}
		if int64(v.rows.Len()+1)*int64(relevance.RowBytes(len(d.Weight))+keyBytes) > v.Memory {
			if !v.full {
				v.full = true
				v.Log.Warn("the vectors don't fit into memory; texts beyond count by their hashed words", "embedding.memory_mb", v.Memory>>20, "vectors", v.rows.Len())
			}
			break
		}
		rows, row, ok := v.rows.Append(d)
		if !ok {
			other++
			continue
		}
		v.rows, v.of[keys[i]] = rows, row
		took++
	}
	if other > 0 {
		v.Log.Warn("vectors on disk have another dimension and are not used; give the model of embedding.dimensions a folder of its own (embedding.dir)", "vectors", other, "dimension", v.rows.Dim())
	}
	if took > 0 {
		v.version.Add(1)
	}
	return took > 0
}

// Changed is a number that is another one once there may be more vectors than before, in memory
// or on disk.
func (v *Vectors) Changed() uint64 { return v.version.Load() + uint64(v.Store.Changed()) }

// Status is how many vectors are in memory, and what they take there.
func (v *Vectors) Status() (vectors int, bytes int64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.rows.Len(), int64(v.rows.Bytes()) + int64(len(v.of))*keyBytes
}

// ask has texts embedded and keeps the vectors on disk and in memory. Vectors with numbers that
// are none are left out: bad names their texts.
func (v *Vectors) ask(ctx context.Context, texts []string) (bad []string, tokens int, err error) {
	vectors, tokens, err := v.Model.Embed(ctx, texts)
	if err != nil {
		return nil, tokens, err
	}
	var keys []Key
	var kept []relevance.Dense
	for i, raw := range vectors {
		d, err := relevance.NewDense(raw)
		if err != nil {
			bad = append(bad, texts[i])
			continue
		}
		if dim := v.Dim(); dim != 0 && len(raw) != dim {
			return bad, tokens, fmt.Errorf("%w: the model gives %d numbers, before it gave %d; set embedding.dimensions, or give this model a folder of its own (embedding.dir)", ErrDimension, len(raw), dim)
		}
		keys, kept = append(keys, KeyOf(texts[i])), append(kept, d)
	}
	if len(keys) == 0 {
		return bad, tokens, nil
	}
	if err := v.Store.Put(keys, kept); err != nil {
		return bad, tokens, err
	}
	v.hold(keys, kept)
	return bad, tokens, nil
}

// Errors of a question's vector. Their texts hold settings and numbers only.
var (
	ErrDimension = errors.New("another dimension")
	ErrLate      = errors.New("the embeddings server took too long")
)

// Dim is the number of numbers of each vector; 0 while none is in memory.
func (v *Vectors) Dim() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.rows.Dim()
}
