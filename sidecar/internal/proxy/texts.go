package proxy

import (
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
	now, old map[string]relevance.Packed
}

func (t *texts) vector(text string) relevance.Packed {
	t.mu.RLock()
	v, ok := t.now[text]
	t.mu.RUnlock()
	if !ok {
		v = t.add(text)
	}
	return v
}

// vectors gives the vectors of many texts, in their order and in the room of list.
func (t *texts) vectors(list relevance.List, texts [][]byte) relevance.List {
	list = room(list, len(texts))
	var unknown []int
	t.mu.RLock()
	for i, text := range texts {
		v, ok := t.now[string(text)]
		if !ok {
			unknown = append(unknown, i)
		}
		list[i] = v
	}
	t.mu.RUnlock()
	for _, i := range unknown {
		list[i] = t.add(string(texts[i]))
	}
	return list
}

// add brings a text's vector among those of now.
func (t *texts) add(text string) relevance.Packed {
	t.mu.RLock()
	v, ok := t.old[text]
	t.mu.RUnlock()
	if !ok {
		v = relevance.Pack(t.hash.Embed(text))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.now) >= textsKept {
		t.now, t.old = nil, t.now
	}
	if t.now == nil {
		t.now = make(map[string]relevance.Packed)
	}
	t.now[text] = v
	return v
}
