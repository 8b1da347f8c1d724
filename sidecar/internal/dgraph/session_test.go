package dgraph

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATokenIsRenewedWhenThreeQuartersOfItsLifeAreOver(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	token := func(claims string) string {
		return "head." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".signature"
	}
	ends := func(in time.Duration) string { return token(fmt.Sprintf(`{"exp":%d}`, now.Add(in).Unix())) }
	for _, c := range []struct {
		name, token string
		want        time.Time
	}{
		{"six hours", ends(6 * time.Hour), now.Add(270 * time.Minute)},
		{"four seconds", ends(4 * time.Second), now.Add(3 * time.Second)},
		{"at an end already, by our clock", ends(-time.Second), time.Time{}},
		{"no end", token(`{}`), time.Time{}},
		{"not JSON", token(`x`), time.Time{}},
		{"no token", "opaque", time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, renewal(c.token, now)) })
	}
}
