package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is one child, from start to end.
type process struct {
	name    string
	cmd     *exec.Cmd
	logFile string
	logFrom int64 // where this run's part of the log begins
	done    chan struct{}
	err     error // of Wait; set before done is closed
}

// startProcess starts a child in the folder; what it prints is appended to NAME.log there.
func startProcess(f *folder, name, bin string, args ...string) (*process, error) {
	logFile := filepath.Join(f.dir, name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the %s's log can't be written: %w", name, err)
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = f.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{f.lock}
	cmd.SysProcAttr = childAttr()
	p := &process{name: name, cmd: cmd, logFile: logFile, logFrom: from, done: make(chan struct{})}

	started := make(chan error)
	go func() {
		// The kernel ties the child's death signal to the thread that started it, not to
		// this process: the thread has to live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("the %s can't be started: %w; %s", name, err, getEngine)
	}
	return p, nil
}

// ErrKilled is in the chain of Stop's error when a child did not end by itself in time. Nothing
// that was committed is lost.
var ErrKilled = errors.New("didn't stop in time and was killed")

// stop asks the child to end and kills it when the grace or ctx is over.
func (p *process) stop(ctx context.Context, grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the %s can't be stopped: %w", p.name, err)
	}
	select {
	case <-p.done: // an exit code says nothing here: v25 may panic after it has closed its files
		return nil
	case <-ctx.Done():
	}
	killErr := p.cmd.Process.Kill()
	<-p.done
	if errors.Is(killErr, os.ErrProcessDone) {
		return nil
	}
	return fmt.Errorf("the %s %w; what was committed is in its log and comes back at the next start", p.name, ErrKilled)
}

// ended describes a child that ended by itself.
func (p *process) ended() error {
	tail := p.tail()
	if i := strings.Index(tail, "bind: address already in use"); i >= 0 {
		line := tail[strings.LastIndexByte(tail[:i], '\n')+1:]
		line, _, _ = strings.Cut(line, "\n")
		return fmt.Errorf("the %s ended: %w: %s", p.name, errPortTaken, line)
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("the engine's %s ended by itself (%s); the last lines of %s:\n%s", p.name, how, p.logFile, tail)
}

// Bounds of what a crash report shows of a log.
const (
	tailBytes = 64 << 10
	tailLines = 20
)

// fatal finds where a Go program or glog says why it ends.
var fatal = regexp.MustCompile(`(?m)^(panic: |fatal error: |F\d{4} |Error: |\[?unexpected |\d{4}/\d\d/\d\d )`)

// tail gives the last lines of this run's log, from the cause of the end on where it is found.
func (p *process) tail() string {
	f, err := os.Open(p.logFile)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	from := p.logFrom
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-tailBytes)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return err.Error()
	}
	b = bytes.TrimSpace(b)
	if at := fatal.FindIndex(b); at != nil {
		lines := withoutFrames(strings.Split(string(b[at[0]:]), "\n"))
		return strings.Join(lines[:min(len(lines), tailLines)], "\n")
	}
	lines := withoutFrames(strings.Split(string(b), "\n"))
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// withoutFrames drops stack frames: a function's line and the indented one with its place.
func withoutFrames(lines []string) []string {
	var kept []string
	for i, line := range lines {
		if strings.HasPrefix(line, "\t") || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t/") {
			continue
		}
		kept = append(kept, line)
	}
	return kept
}
