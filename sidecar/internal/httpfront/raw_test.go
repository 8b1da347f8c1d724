package httpfront_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// exchange sends bytes as they are, the second part once the server has said something or, if it
// doesn't, after a moment, and gives all that comes back until the connection is closed.
func exchange(t *testing.T, url, head, rest string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, head)
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	if strings.Contains(head, "Expect:") {
		_, err = in.Peek(1)
		require.NoError(t, err)
	}
	_, err = io.WriteString(conn, rest)
	require.NoError(t, err)
	b, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(b)
}

func TestABodyThatCannotBeReadIsToldInTheAlphasWords(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	for _, path := range []string{"/query", "/mutate?commitNow=true", "/alter"} {
		got := exchange(t, f.URL, "POST "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nContent-Type: application/dql\r\n\r\n", "5\r\n{ set\r\nzz\r\n")
		require.Contains(t, got, "HTTP/1.1 200 OK\r\n", path)
		require.Contains(t, got, "Access-Control-Allow-Origin: *\r\n")
		require.Contains(t, got, "\r\n\r\n"+`{"errors":[{"message":"invalid byte in chunk length","extensions":{"code":"ErrorInvalidRequest"}}]`)
	}
}

func TestACallerWhoWaitsToSendIsToldOnceToGoOn(t *testing.T) {
	a := newAlpha(t)
	f := newFront(t, a.URL, &ranker{})
	for _, path := range []string{"/query", "/mutate", "/alter"} {
		got := exchange(t, f.URL, "POST "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\nContent-Type: application/rdf\r\n\r\n", "{}")
		require.Equal(t, 1, strings.Count(got, "HTTP/1.1 100 Continue"), "%s: %s", path, got)
		require.Contains(t, got, "HTTP/1.1 200 OK")
		require.Equal(t, "{}", string(a.got[len(a.got)-1].body))
	}
}
