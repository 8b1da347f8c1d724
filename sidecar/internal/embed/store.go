package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// Key stands for a text: the beginning of its SHA-256.
type Key [16]byte

// KeyOf is a text's key.
func KeyOf(text string) Key {
	sum := sha256.Sum256([]byte(text))
	return Key(sum[:16])
}

// Store keeps vectors on local disk by model and text. The file is locked while a batch is read
// or written and at no other time, so several processes may use it at once.
type Store struct {
	path  string
	model []byte
}

// lockTime bounds the wait for another process's batch.
const lockTime = 10 * time.Second

// ErrStore is in the chain of every error of the file.
var ErrStore = errors.New("the file of vectors (embedding.dir)")

// OpenStore makes a folder for the file where there is none. model names what the vectors are made
// by; those of another are left alone.
func OpenStore(dir, model string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	return &Store{path: filepath.Join(dir, "vectors.db"), model: []byte("int8-v1/" + model)}, nil
}

// Get reads the vectors of keys; those that are not there have none.
func (s *Store) Get(keys []Key) ([]relevance.Dense, error) {
	out := make([]relevance.Dense, len(keys))
	if _, err := os.Stat(s.path); errors.Is(err, os.ErrNotExist) || len(keys) == 0 {
		return out, nil
	}
	order := make([]int, len(keys)) // of the file
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(keys[a][:], keys[b][:]) })
	err := s.open(true, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket(s.model)
			if b == nil {
				return nil
			}
			for _, i := range order {
				out[i] = decode(b.Get(keys[i][:]))
			}
			return nil
		})
	})
	return out, err
}

// Put writes vectors, all or none of them.
func (s *Store) Put(keys []Key, vectors []relevance.Dense) error {
	return s.open(false, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(s.model)
			if err != nil {
				return err
			}
			for i, k := range keys {
				if err := b.Put(k[:], encode(vectors[i])); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Changed is a number that is another one once the file has been written.
func (s *Store) Changed() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

func (s *Store) open(readOnly bool, use func(*bbolt.DB) error) (err error) {
	db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{Timeout: lockTime, ReadOnly: readOnly, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err == nil {
		err = errors.Join(use(db), db.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrStore, s.path, err)
	}
	return nil
}

// encode writes the scale and then the weights.
func encode(d relevance.Dense) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(d.Weight)), math.Float32bits(d.Scale))
	for _, w := range d.Weight {
		b = append(b, byte(w))
	}
	return b
}

// decode gives none for what encode did not write.
func decode(b []byte) relevance.Dense {
	if len(b) < 5 {
		return relevance.Dense{}
	}
	d := relevance.Dense{Weight: make([]int8, len(b)-4), Scale: math.Float32frombits(binary.LittleEndian.Uint32(b))}
	for i, w := range b[4:] {
		d.Weight[i] = int8(w)
	}
	return d
}
