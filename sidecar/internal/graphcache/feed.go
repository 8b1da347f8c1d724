package graphcache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/evorag/dgraph-evorag/plugin/graph"
)

// Feed tells what others have changed in the cluster.
type Feed interface {
	// Next returns what has come since the last call, without waiting.
	Next() ([]Event, error)
	// Skip passes over all that has come until now.
	Skip() error
	Close() error
}

// Event is one change: of an edge, of all edges of a node under a predicate (Object 0), of a
// value (likewise), or of more than can be told (Drop).
type Event struct {
	Namespace uint64
	Head      graph.UID
	Predicate string
	Object    graph.UID
	Drop      bool
}

// FileFeed follows the file sink.log that an alpha with --cdc file=DIR writes: a JSON line
// for each changed edge or value, flushed every ten seconds or 256 KiB. A file that is
// replaced (at 100 MB) is read to its end first.
type FileFeed struct {
	path string
	file *os.File
	rest []byte // an unfinished line
}

// OpenFeed follows sink.log in a folder; it needn't be there yet.
func OpenFeed(dir string) *FileFeed { return &FileFeed{path: filepath.Join(dir, "sink.log")} }

// Close lets go of the file.
func (f *FileFeed) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// Skip goes to the file's end.
func (f *FileFeed) Skip() error {
	if err := f.open(); err != nil || f.file == nil {
		return err
	}
	f.rest = nil
	if _, err := f.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	return nil
}

func (f *FileFeed) open() error {
	if f.file != nil {
		return nil
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f.file = file
	return err
}

// Next reads on. After a Skip in the middle of a line the first line may be cut: it is passed
// over, since it was there before.
func (f *FileFeed) Next() ([]Event, error) {
	if err := f.open(); err != nil || f.file == nil {
		return nil, err
	}
	events, err := f.tail(nil)
	if err != nil {
		return nil, err
	}
	replaced, err := f.replaced()
	if err != nil || !replaced {
		return events, err
	}
	if events, err = f.tail(events); err != nil { // what came between
		return nil, err
	}
	f.rest = nil
	if err := errors.Join(f.Close(), f.open()); err != nil || f.file == nil {
		return events, err
	}
	return f.tail(events)
}

// replaced tells whether another file, or a shorter one, now stands under the name.
func (f *FileFeed) replaced() (bool, error) {
	ours, err := f.file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !os.SameFile(ours, now), err
}

func (f *FileFeed) tail(events []Event) ([]Event, error) {
	fresh, err := io.ReadAll(f.file)
	if err != nil {
		return nil, fmt.Errorf("the change feed %s: %w", f.path, err)
	}
	f.rest = append(f.rest, fresh...)
	for {
		line, rest, whole := bytes.Cut(f.rest, []byte("\n"))
		if !whole {
			return events, nil
		}
		f.rest = rest
		if e, ok := parseEvent(line); ok {
			events = append(events, e)
		}
	}
}

// parseEvent reads one line, such as
//
//	{ "key": "0", "value": {"meta":{"commit_ts":5},"type":"mutation","event":{"operation":"del","uid":16,"attr":"knows","value":18,"value_type":"uid"}}}
//
// where a deletion of all has the value "_STAR_ALL" and a drop the type "drop". A line that is
// cut or of another kind tells nothing.
func parseEvent(line []byte) (Event, bool) {
	var l struct {
		Key   string `json:"key"`
		Value struct {
			Type  string `json:"type"`
			Event struct {
				UID       uint64          `json:"uid"`
				Attr      string          `json:"attr"`
				Value     json.RawMessage `json:"value"`
				ValueType string          `json:"value_type"`
			} `json:"event"`
		} `json:"value"`
	}
	if json.Unmarshal(line, &l) != nil {
		return Event{}, false
	}
	namespace, err := strconv.ParseUint(l.Key, 10, 64)
	if err != nil {
		return Event{}, false
	}
	e := Event{Namespace: namespace, Head: graph.UID(l.Value.Event.UID), Predicate: l.Value.Event.Attr}
	switch l.Value.Type {
	case "drop":
		return Event{Namespace: namespace, Drop: true}, true
	case "mutation":
		if l.Value.Event.ValueType == "uid" {
			object, err := strconv.ParseUint(string(l.Value.Event.Value), 10, 64)
			if err != nil {
				return Event{}, false
			}
			e.Object = graph.UID(object)
		}
		return e, e.Head != 0 && e.Predicate != ""
	}
	return Event{}, false
}
