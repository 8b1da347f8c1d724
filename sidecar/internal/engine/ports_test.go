package engine

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChoosePorts(t *testing.T) {
	free, err := choosePorts(Ports{}, Ports{})
	require.NoError(t, err)

	t.Run("all five are Dgraph's, shifted", func(t *testing.T) {
		require.Equal(t, atOffset(free.zeroOffset(), free.alphaOffset()), free)
		require.NoError(t, probe(append(free.zeroPorts(), free.alphaPorts()...)))
	})
	t.Run("those of the last start are taken again", func(t *testing.T) {
		p, err := choosePorts(Ports{}, free)
		require.NoError(t, err)
		require.Equal(t, free, p)
	})
	t.Run("one port fixes those of its process and leaves the other's", func(t *testing.T) {
		p, err := choosePorts(Ports{AlphaGRPC: free.AlphaGRPC}, atOffset(free.zeroOffset()+10, free.alphaOffset()+10))
		require.NoError(t, err)
		require.Equal(t, free.AlphaHTTP, p.AlphaHTTP)
		require.Equal(t, free.ZeroGRPC+10, p.ZeroGRPC)
		p, err = choosePorts(Ports{ZeroHTTP: free.ZeroHTTP}, Ports{})
		require.NoError(t, err)
		require.Equal(t, free.ZeroGRPC, p.ZeroGRPC)
	})
	t.Run("a taken port of the last start has others chosen", func(t *testing.T) {
		l, err := net.Listen("tcp", addr(free.ZeroHTTP))
		require.NoError(t, err)
		defer l.Close()
		p, err := choosePorts(Ports{}, free)
		require.NoError(t, err)
		require.NotEqual(t, free, p)
		_, err = choosePorts(free, Ports{})
		require.ErrorContains(t, err, "port "+strconv.Itoa(free.ZeroHTTP)+" (zero HTTP) is in use")
	})
}

func TestPortsOfEnginesThatCannotMove(t *testing.T) {
	require.False(t, movable("v24.1.2"))
	require.False(t, movable("v25.0.0"))
	require.True(t, movable("v25.4.0"))
	require.True(t, movable("v26.0.0-rc1"))
	require.True(t, movable("dev"))

	first := atOffset(10, 20)
	p, err := pinPorts(Ports{AlphaHTTP: 8100}, first, "v24.1.2")
	require.NoError(t, err)
	require.Equal(t, first, p)
	_, err = pinPorts(Ports{AlphaHTTP: 8101}, first, "v24.1.2")
	require.ErrorContains(t, err, "alpha HTTP port 8101: Dgraph v24.1.2 can't continue a folder on other ports than its first; write 8100")
}
