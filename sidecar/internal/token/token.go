// Package token makes and checks retrieval ids. An id names its namespace and time and is
// signed, so that any replica that has the key can tell a real id from a forged one without
// asking the cluster.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// ErrForged is returned for an id that this key did not sign.
var ErrForged = errors.New("not a retrieval id of this sidecar; send the id from extensions.evorag.retrieval")

const (
	version   = 1
	nonceSize = 15
	bodySize  = 1 + 8 + 8 + nonceSize // version, namespace, unix milliseconds, nonce
	macSize   = 16                    // HMAC-SHA256, truncated as RFC 2104 section 5 allows
	// MinKey is the least number of bytes of a key.
	MinKey = 16
)

// ID is what a token says.
type ID struct {
	Namespace uint64
	Time      time.Time // to the millisecond
}

// Signer makes and checks ids with one key.
type Signer struct{ key []byte }

// NewSigner takes a key of at least MinKey bytes.
func NewSigner(key []byte) (*Signer, error) {
	if len(key) < MinKey {
		return nil, fmt.Errorf("a retrieval key of %d bytes is too short; make one of 32 with: head -c 32 /dev/urandom > FILE", len(key))
	}
	return &Signer{key: key}, nil
}

// New makes an id of 64 characters from the URL-safe base64 alphabet. No two are alike.
func (s *Signer) New(namespace uint64, at time.Time) string {
	b := make([]byte, bodySize, bodySize+macSize)
	b[0] = version
	binary.BigEndian.PutUint64(b[1:], namespace)
	binary.BigEndian.PutUint64(b[9:], uint64(at.UnixMilli()))
	_, _ = rand.Read(b[17:]) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(append(b, s.mac(b)...))
}

// Parse checks an id, in time that does not depend on its content.
func (s *Signer) Parse(text string) (ID, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != bodySize+macSize || b[0] != version || !hmac.Equal(b[bodySize:], s.mac(b[:bodySize])) {
		return ID{}, ErrForged
	}
	return ID{
		Namespace: binary.BigEndian.Uint64(b[1:]),
		Time:      time.UnixMilli(int64(binary.BigEndian.Uint64(b[9:]))),
	}, nil
}

func (s *Signer) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(body)
	return h.Sum(nil)[:macSize]
}
