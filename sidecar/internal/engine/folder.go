package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// folder is the engine's data folder, locked by this process and its children.
type folder struct {
	dir  string
	lock *os.File
}

// state is what one start leaves for the next, in engine.json.
type state struct {
	Ports   Ports  `json:"ports"`
	Version string `json:"version"`
	// Tokenizer is true once an alpha with the tokenizer has run here: one without it would
	// crash at the first use of a predicate that is indexed by it.
	Tokenizer bool `json:"tokenizer"`
}

// openFolder makes and locks the folder. The lock ends with the last process that holds it: the
// children inherit it, so that a folder isn't opened twice while one of them still writes.
func openFolder(dir string) (*folder, error) {
	if dir == "" {
		return nil, errors.New("no data folder is named; write one with --data DIR")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder can't be made: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder can't be written: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := make([]byte, 20)
		n, _ := lock.ReadAt(holder, 0)
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data folder %s is in use by process %s; stop that one, or name another folder with --data",
				dir, strings.TrimSpace(string(holder[:n])))
		}
		return nil, fmt.Errorf("data folder %s can't be locked: %w", dir, err)
	}
	f := &folder{dir: dir, lock: lock}
	if err := errors.Join(lock.Truncate(0), writeAt(lock, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.close()
		return nil, fmt.Errorf("the data folder can't be written: %w", err)
	}
	return f, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func (f *folder) close() { f.lock.Close() }

func (f *folder) stateFile() string { return filepath.Join(f.dir, "engine.json") }

// state reads engine.json; zero for a new folder.
func (f *folder) state() (state, error) {
	var s state
	b, err := os.ReadFile(f.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s can't be read (%w); delete it and start again, the data is not in it", f.stateFile(), err)
	}
	return s, nil
}

// remember writes engine.json as a whole or not at all.
func (f *folder) remember(s state) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := f.stateFile() + ".new"
	if err := os.WriteFile(next, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.stateFile())
}
