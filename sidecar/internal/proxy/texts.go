package proxy

import (
	"hash/maphash"
	"sync"

	"github.com/evorag/dgraph-evorag/plugin/relevance"
)

// textsKept is how many texts' vectors are remembered at least: about 5 MB for names of 15
// letters; twice that at most.
const textsKept = 1 << 14

// texts remembers the vectors of names and labels, which come up in question after question.
// What was not asked for during the last textsKept new texts is forgotten.
type texts struct {
	hash *relevance.Hash

	mu       sync.RWMutex
	now, old remembered
}

// remembered are vectors by their texts. A text is known by its hash of 64 bits, seeded anew in each
// process: that among twice textsKept texts one is taken for another has a chance of 3 in 10^11.
type remembered struct {
	ids     map[uint64]uint32
	keys    []uint64 // by id, in the order in which they came, that of the answers of the engine
	vectors relevance.Pile
}

// find gives a text's id, which may well be the one behind before.
func (r *remembered) find(key uint64, before uint32) (uint32, bool) {
	if next := int(before) + 1; next < len(r.keys) && r.keys[next] == key {
		return uint32(next), true
	}
	id, ok := r.ids[key]
	return id, ok
}

func (r *remembered) get(key uint64) (relevance.Packed, bool) {
	id, ok := r.ids[key]
	if !ok {
		return relevance.Packed{}, false
	}
	return r.vectors.At(int(id)), true
}

var textSeed = maphash.MakeSeed()

func (t *texts) vector(text string) relevance.Packed {
	key := maphash.String(textSeed, text)
	t.mu.RLock()
	v, ok := t.now.get(key)
	t.mu.RUnlock()
	if !ok {
		v = t.add(key, text)
	}
	return v
}

// vectors gives the vectors of many texts, in their order and in the room of list.
func (t *texts) vectors(list relevance.List, texts [][]byte) relevance.List {
	list = room(list, len(texts))
	var unknown []int
	t.mu.RLock()
	id := uint32(0)
	for i, text := range texts {
		if found, ok := t.now.find(maphash.Bytes(textSeed, text), id); ok {
			id = found
			list[i] = t.now.vectors.At(int(id))
		} else {
			unknown = append(unknown, i)
		}
	}
	t.mu.RUnlock()
	for _, i := range unknown {
		list[i] = t.add(maphash.Bytes(textSeed, texts[i]), string(texts[i]))
	}
	return list
}

// add brings a text's vector among those of now.
func (t *texts) add(key uint64, text string) relevance.Packed {
	t.mu.RLock()
	v, ok := t.old.get(key)
	t.mu.RUnlock()
	if !ok {
		v = relevance.Pack(t.hash.Embed(text))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.vectors.Len() >= textsKept {
		t.now, t.old = remembered{}, t.now
	}
	if t.now.ids == nil {
		t.now.ids = make(map[uint64]uint32)
	}
	if _, known := t.now.ids[key]; !known { // by another query, meanwhile
		t.now.ids[key] = uint32(t.now.vectors.Len())
		t.now.keys = append(t.now.keys, key)
		t.now.vectors.Append(v)
	}
	return v
}
