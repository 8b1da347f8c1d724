// Package engine starts and stops a private Dgraph, one zero and one alpha, as child processes.
//
// The children listen on the loopback interface only, die with this process, and keep everything
// in one folder: a later Start on the same folder continues where the last one stopped.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options say what Start starts. The zero value of every field but DataDir is usable.
type Options struct {
	// Bin is the dgraph binary; empty: see Locate.
	Bin string
	// DataDir is the folder of everything the engine writes; it is made where it is missing.
	DataDir string
	// Ports that are zero are chosen: those of the last start on this folder, else free ones.
	Ports Ports
	// Tokenizer is the plugin evorag_entity.so; empty: the one beside Bin, beside this program or in
	// bin/, where there is one. One that the engine would refuse is left out, and Progress told
	// why; but a folder that was once started with it isn't started without.
	Tokenizer string
	// CDCDir is where the alpha writes changes (sink.log); empty: DataDir/cdc.
	CDCDir string
	// ACLSecretFile switches access control on; the file holds a secret of 32 bytes.
	ACLSecretFile string
	// AccessTTL is how long an access token is good, with access control; 0: Dgraph's six hours.
	AccessTTL time.Duration
	// Progress is told what goes on, one short line each; nil: nobody is.
	Progress func(line string)
	// StartTimeout bounds Start; 0: five minutes, since an alpha may replay a long log.
	StartTimeout time.Duration
	// StopGrace is how long the alpha may take to end by itself; 0: 10 seconds. It usually takes
	// one; v25.4.0 was seen to hang there.
	StopGrace time.Duration
}

// Engine is a running zero and alpha. Its methods are safe for concurrent use.
type Engine struct {
	ports     Ports
	version   string
	tokenizer bool
	cdcDir    string
	grace     time.Duration
	folder    *folder
	zero      *process
	alpha     *process

	stopOnce sync.Once
	stopErr  error
	stopping chan struct{}
	done     chan struct{}
	err      error // set before done is closed
}

// portAttempts is how often other free ports are tried when somebody takes one between the
// probe and the engine's own bind.
const portAttempts = 5

// Start starts the zero and the alpha and returns when the alpha answers queries, after about
// 5 seconds: most of it is the zero's election. ctx bounds the start only; when it ends first, or
// anything fails, no child is left. Errors are one line, except that of a child that ended, which
// carries the tail of its log.
func Start(ctx context.Context, o Options) (*Engine, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 5 * time.Minute
	}
	if o.StopGrace == 0 {
		o.StopGrace = 10 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout,
		fmt.Errorf("the engine wasn't ready within %v; look into the logs in %s", o.StartTimeout, o.DataDir))
	defer cancel()

	bin, err := Locate(o.Bin)
	if err != nil {
		return nil, err
	}
	version, err := versionOf(ctx, bin)
	if err != nil {
		return nil, err
	}
	folder, err := openFolder(o.DataDir)
	if err != nil {
		return nil, err
	}
	e, err := startIn(ctx, folder, bin, version, o)
	if err != nil {
		folder.close()
		return nil, err
	}
	return e, nil
}

func startIn(ctx context.Context, folder *folder, bin, version string, o Options) (*Engine, error) {
	last, err := folder.state()
	if err != nil {
		return nil, err
	}
	tokenizer, err := tokenizerFor(folder.dir, last.Tokenizer, bin, o)
	if err != nil {
		return nil, err
	}
	cdcDir, err := prepare(folder.dir, &o)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		if last.Ports.fixed() && !movable(version) {
			if o.Ports, err = pinPorts(o.Ports, last.Ports, version); err != nil {
				return nil, err
			}
		}
		ports, err := choosePorts(o.Ports, last.Ports)
		if err != nil {
			return nil, err
		}
		e := &Engine{
			ports: ports, version: version, tokenizer: tokenizer != "", cdcDir: cdcDir,
			grace: o.StopGrace, folder: folder,
			stopping: make(chan struct{}), done: make(chan struct{}),
		}
		// The ports first: a zero keeps the address of its first run, even of one that was broken off.
		next := state{Ports: ports, Version: version, Tokenizer: last.Tokenizer}
		if err = folder.remember(next); err == nil {
			err = e.run(ctx, bin, tokenizer, o)
		}
		if err == nil && e.tokenizer && !next.Tokenizer {
			next.Tokenizer = true
			err = folder.remember(next)
		}
		if err == nil {
			go e.watch()
			return e, nil
		}
		_ = e.endChildren(context.WithoutCancel(ctx)) // err is the news, not a child that had to be killed
		canMove := movable(version) || e.alpha == nil
		if errors.Is(err, errPortTaken) && attempt < portAttempts && !o.Ports.fixed() && canMove {
			o.Progress("another process took one of the chosen ports; trying others")
			last.Ports = Ports{}
			continue
		}
		if last.Version != "" && last.Version != version {
			err = fmt.Errorf("%w\n(this folder was last used by Dgraph %s, the engine is %s)", err, last.Version, version)
		}
		return nil, err
	}
}

// tokenizerFor decides which plugin the alpha loads, "" for none. A folder that was indexed with it
// can't do without: the alpha crashes at the first query of such a predicate.
func tokenizerFor(dir string, indexed bool, bin string, o Options) (string, error) {
	file, err := chooseTokenizer(bin, o.Tokenizer)
	switch {
	case indexed && err != nil:
		return "", fmt.Errorf("data folder %s is indexed with the tokenizer, and the engine can't run it without: %w", dir, err)
	case indexed && file == "":
		return "", fmt.Errorf("data folder %s is indexed with the tokenizer, and there is no %s beside %s or in bin/; run `make engine` to build it",
			dir, pluginFile, bin)
	case err != nil:
		o.Progress(err.Error())
	}
	return file, nil
}

// prepare checks the ACL secret, makes the folder of changes and gives its path; both paths
// become absolute, since the children work in the data folder.
func prepare(dir string, o *Options) (cdcDir string, err error) {
	if o.ACLSecretFile != "" {
		if o.ACLSecretFile, err = filepath.Abs(o.ACLSecretFile); err != nil {
			return "", err
		}
		if _, err := os.Stat(o.ACLSecretFile); err != nil {
			return "", fmt.Errorf("the ACL secret file can't be read: %w; write 32 random characters into it", err)
		}
	}
	cdcDir = o.CDCDir
	if cdcDir == "" {
		cdcDir = filepath.Join(dir, "cdc")
	}
	if cdcDir, err = filepath.Abs(cdcDir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(cdcDir, 0o700); err != nil {
		return "", fmt.Errorf("the folder for changes can't be made: %w", err)
	}
	return cdcDir, nil
}

// run starts the zero, then the alpha, and waits for both.
func (e *Engine) run(ctx context.Context, bin, tokenizer string, o Options) error {
	var err error
	o.Progress(fmt.Sprintf("starting Dgraph %s: zero on port %d", e.version, e.ports.ZeroGRPC))
	e.zero, err = startProcess(e.folder, "zero", bin,
		"zero", "--bindall=false", "--my", e.ports.local(e.ports.ZeroGRPC),
		"--port_offset", fmt.Sprint(e.ports.zeroOffset()), "--wal", "zero", "--telemetry", "reports=false")
	if err != nil {
		return err
	}
	if err := waitHealthy(ctx, e.zero, e.ports.ZeroHTTP, o.Progress); err != nil {
		return err
	}
	args := []string{
		"alpha", "--bindall=false", "--my", e.ports.local(e.ports.AlphaInternal),
		"--zero", e.ports.local(e.ports.ZeroGRPC), "--port_offset", fmt.Sprint(e.ports.alphaOffset()),
		"--postings", "p", "--wal", "w", "--tmp", "tmp", "--telemetry", "reports=false",
		"--security", "whitelist=127.0.0.1", "--cache", "size-mb=1024", "--cdc", "file=" + e.cdcDir,
	}
	if tokenizer != "" {
		args = append(args, "--custom_tokenizers", tokenizer)
	}
	if o.ACLSecretFile != "" {
		acl := "secret-file=" + o.ACLSecretFile
		if o.AccessTTL > 0 {
			acl += "; access-ttl=" + o.AccessTTL.String()
		}
		args = append(args, "--acl", acl)
	}
	o.Progress(fmt.Sprintf("starting Dgraph %s: alpha, HTTP on port %d, gRPC on port %d", e.version, e.ports.AlphaHTTP, e.ports.AlphaGRPC))
	if e.alpha, err = startProcess(e.folder, "alpha", bin, args...); err != nil {
		return err
	}
	if err := waitHealthy(ctx, e.alpha, e.ports.AlphaHTTP, o.Progress); err != nil {
		return err
	}
	return waitReady(ctx, e.alpha, e.ports.AlphaHTTP)
}

// GRPCAddr is the alpha's gRPC address, host:port.
func (e *Engine) GRPCAddr() string { return addr(e.ports.AlphaGRPC) }

// HTTPAddr is the alpha's HTTP address, host:port.
func (e *Engine) HTTPAddr() string { return addr(e.ports.AlphaHTTP) }

// Ports are all five ports in use.
func (e *Engine) Ports() Ports { return e.ports }

// Version is what the binary calls itself, such as "v25.4.0".
func (e *Engine) Version() string { return e.version }

// DataDir is the folder that holds the data and the logs zero.log and alpha.log.
func (e *Engine) DataDir() string { return e.folder.dir }

// CDCDir is the folder in which the alpha writes sink.log, one JSON line for each changed edge.
func (e *Engine) CDCDir() string { return e.cdcDir }

// HasTokenizer tells whether the alpha loaded the tokenizer evorag_entity.
func (e *Engine) HasTokenizer() bool { return e.tokenizer }

// Done is closed when a child has ended, by itself or by Stop.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is nil until Done is closed and after Stop; else it says which child ended by itself, with
// the tail of its log. Stop is still to be called then, for the other child and the lock.
func (e *Engine) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// watch waits for the first child that ends.
func (e *Engine) watch() {
	defer close(e.done)
	ended := e.zero
	select {
	case <-e.stopping:
		<-e.alpha.done
		<-e.zero.done
		return
	case <-e.alpha.done:
		ended = e.alpha
	case <-e.zero.done:
	}
	select {
	case <-e.stopping: // both at once
	default:
		e.err = ended.ended()
	}
}

// Stop ends the alpha, then the zero, and releases the folder. An alpha that takes longer than
// the grace, or than ctx, is killed, and the error says so. Calling it again gives the same error.
func (e *Engine) Stop(ctx context.Context) error {
	e.stopOnce.Do(func() {
		close(e.stopping)
		e.stopErr = e.endChildren(ctx)
		<-e.done
		e.folder.close()
	})
	return e.stopErr
}

// zeroGrace is enough for a zero whose alpha has ended. That of v25.0.0 never ends by itself (it
// waits for a routine that it doesn't start); what it holds is on disk by then, so that killing
// it is no error.
const zeroGrace = 3 * time.Second

// endChildren stops what has been started, in order.
func (e *Engine) endChildren(ctx context.Context) error {
	var alphaErr, zeroErr error
	if e.alpha != nil {
		alphaErr = e.alpha.stop(ctx, e.grace)
	}
	if e.zero != nil {
		if zeroErr = e.zero.stop(ctx, min(e.grace, zeroGrace)); errors.Is(zeroErr, ErrKilled) {
			zeroErr = nil
		}
	}
	return errors.Join(alphaErr, zeroErr)
}
