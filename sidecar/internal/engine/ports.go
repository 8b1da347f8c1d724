package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports of the engine; zero means that Start chooses. Dgraph shifts all ports of a process by one
// offset: the zero's HTTP is its gRPC + 1000, and the alpha's internal, HTTP and gRPC ports lie
// 1000 apart, so naming one of a process fixes the others.
type Ports struct {
	ZeroGRPC      int `json:"zero_grpc"`      // 5080 + offset
	ZeroHTTP      int `json:"zero_http"`      // 6080 + offset
	AlphaInternal int `json:"alpha_internal"` // 7080 + offset
	AlphaHTTP     int `json:"alpha_http"`     // 8080 + offset
	AlphaGRPC     int `json:"alpha_grpc"`     // 9080 + offset
}

// Dgraph's ports at offset 0.
const (
	zeroBase  = 5080
	alphaBase = 7080
	gap       = 1000
)

// Free offsets are looked for below the ports that systems hand out for outgoing connections.
const (
	minOffset = 5000
	maxOffset = 23000
)

// errPortTaken means that a port was free when probed and taken when the engine bound it.
var errPortTaken = errors.New("a port was taken")

func atOffset(zero, alpha int) Ports {
	return Ports{
		ZeroGRPC: zeroBase + zero, ZeroHTTP: zeroBase + gap + zero,
		AlphaInternal: alphaBase + alpha, AlphaHTTP: alphaBase + gap + alpha, AlphaGRPC: alphaBase + 2*gap + alpha,
	}
}

func (p Ports) zeroOffset() int  { return p.ZeroGRPC - zeroBase }
func (p Ports) alphaOffset() int { return p.AlphaInternal - alphaBase }
func (p Ports) fixed() bool      { return p != Ports{} }

// local is how the children name each other.
func (Ports) local(port int) string { return "localhost:" + strconv.Itoa(port) }

// addr is how this process reaches a port.
func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// port is one of Ports with what an error calls it.
type port struct {
	name   string
	number int
	base   int
}

func (p Ports) zeroPorts() []port {
	return []port{{"zero gRPC", p.ZeroGRPC, zeroBase}, {"zero HTTP", p.ZeroHTTP, zeroBase + gap}}
}

func (p Ports) alphaPorts() []port {
	return []port{
		{"alpha internal", p.AlphaInternal, alphaBase},
		{"alpha HTTP", p.AlphaHTTP, alphaBase + gap},
		{"alpha gRPC", p.AlphaGRPC, alphaBase + 2*gap},
	}
}

// offset reads the offset that the given ports of one process fix; ok is false where none is given.
func offset(ports []port) (offset int, ok bool, err error) {
	var first port
	for _, p := range ports {
		if p.number == 0 {
			continue
		}
		switch o := p.number - p.base; {
		case !ok:
			offset, ok, first = o, true, p
		case o != offset:
			return 0, false, fmt.Errorf("%s port %d and %s port %d don't go together: with the first, the second is %d; write that or leave one out",
				first.name, first.number, p.name, p.number, p.base+offset)
		}
	}
	last := ports[len(ports)-1]
	if ok && (ports[0].base+offset < 1 || last.base+offset > 65535) {
		return 0, false, fmt.Errorf("%s port %d puts %s at %d and %s at %d; write ports that leave all within 1..65535",
			first.name, first.number, ports[0].name, ports[0].base+offset, last.name, last.base+offset)
	}
	return offset, ok, nil
}

// choosePorts completes the asked ports: what is fixed must be free; the rest is taken from the
// last start, where all of it is free, else at random.
func choosePorts(asked, last Ports) (Ports, error) {
	zero, zeroFixed, err := offset(asked.zeroPorts())
	if err != nil {
		return Ports{}, err
	}
	alpha, alphaFixed, err := offset(asked.alphaPorts())
	if err != nil {
		return Ports{}, err
	}
	try := func(zero, alpha int) (Ports, error) {
		p := atOffset(zero, alpha)
		if zero == alpha+gap || zero == alpha+2*gap || zero == alpha+3*gap || zero == alpha+4*gap {
			return Ports{}, fmt.Errorf("the zero's ports %d and %d meet the alpha's %d, %d and %d; give one of them other ports",
				p.ZeroGRPC, p.ZeroHTTP, p.AlphaInternal, p.AlphaHTTP, p.AlphaGRPC)
		}
		return p, probe(append(p.zeroPorts(), p.alphaPorts()...))
	}
	if zeroFixed && alphaFixed {
		return try(zero, alpha)
	}
	if zeroFixed {
		if err := probe(atOffset(zero, 0).zeroPorts()); err != nil {
			return Ports{}, err
		}
	}
	if alphaFixed {
		if err := probe(atOffset(0, alpha).alphaPorts()); err != nil {
			return Ports{}, err
		}
	}
	complete := func(zeroFree, alphaFree int) (Ports, error) {
		z, a := zeroFree, alphaFree
		if zeroFixed {
			z = zero
		}
		if alphaFixed {
			a = alpha
		}
		return try(z, a)
	}
	if last.fixed() {
		if p, err := complete(last.zeroOffset(), last.alphaOffset()); err == nil {
			return p, nil
		}
	}
	for range 200 {
		o := minOffset + rand.IntN(maxOffset-minOffset)
		if p, err := complete(o, o); err == nil {
			return p, nil
		}
	}
	return Ports{}, fmt.Errorf("no five free ports were found between %d and %d; name free ones", zeroBase+minOffset, alphaBase+2*gap+maxOffset)
}

// movable tells whether an engine can continue a folder on other ports: before v25.4, a zero kept
// announcing the address of its first start.
func movable(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "v%d.%d", &major, &minor); n < 2 {
		return true // a build without a version
	}
	return major > 25 || major == 25 && minor >= 4
}

// pinPorts completes the asked ports to those of the folder's first start, or says that they differ.
func pinPorts(asked, first Ports, version string) (Ports, error) {
	firsts := append(first.zeroPorts(), first.alphaPorts()...)
	for i, p := range append(asked.zeroPorts(), asked.alphaPorts()...) {
		if p.number != 0 && p.number != firsts[i].number {
			return Ports{}, fmt.Errorf("%s port %d: Dgraph %s can't continue a folder on other ports than its first; write %d or leave it out",
				p.name, p.number, version, firsts[i].number)
		}
	}
	return first, nil
}

// probe binds every port for a moment.
func probe(ports []port) error {
	for _, p := range ports {
		l, err := net.Listen("tcp", addr(p.number))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return fmt.Errorf("port %d (%s) is in use; stop what listens there, or name another port", p.number, p.name)
		case err != nil:
			return fmt.Errorf("port %d (%s) can't be used: %w", p.number, p.name, err)
		}
		l.Close()
	}
	return nil
}
