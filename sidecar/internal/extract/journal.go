package extract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/evorag/dgraph-evorag/sidecar/internal/llm"
)

// journal is the file of what the model said, a line for each chunk: what stands there is
// not asked again.
type journal struct {
	mu   sync.Mutex
	file *os.File
	said map[string]llm.Extract
}

type journalLine struct {
	Key     string      `json:"key"`
	Extract llm.Extract `json:"extract"`
}

// openJournal reads the file and opens it for more. A last line that a crash cut off is
// taken away.
func openJournal(name string) (*journal, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, said: map[string]llm.Extract{}}
	whole, err := j.read()
	if err == nil {
		err = file.Truncate(whole)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return j, nil
}

// read gives the length of the whole lines.
func (j *journal) read() (int64, error) {
	lines := bufio.NewReader(j.file)
	var whole int64
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return 0, err
		}
		var l journalLine
		if err := json.Unmarshal(bytes.TrimSpace(line), &l); err != nil || l.Key == "" {
			return 0, fmt.Errorf("line %d is none of ours; move the file away or choose another --output", n)
		}
		j.said[l.Key] = l.Extract
		whole += int64(len(line))
	}
}

func (j *journal) get(key string) (llm.Extract, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.said[key]
	return e, ok
}

// put keeps an extract, on the disk when it returns.
func (j *journal) put(key string, e llm.Extract) error {
	line, err := json.Marshal(journalLine{key, e})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	j.said[key] = e
	return j.file.Sync()
}

func (j *journal) close() error { return j.file.Close() }
