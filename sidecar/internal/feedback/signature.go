package feedback

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Secret signs deliveries, or is sent as it is by those who can't sign.
type Secret struct {
	text string
	key  []byte
}

// ParseSecret reads "whsec_" and base64, as Standard Webhooks writes secrets, of 24 to 64 bytes.
func ParseSecret(text string) (Secret, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 {
		return Secret{}, errors.New("a webhook secret is whsec_ and the base64 of 24 to 64 bytes; make one with: echo whsec_$(head -c 32 /dev/urandom | base64)")
	}
	return Secret{text, key}, nil
}

var errUnsigned = errors.New("not signed; send webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks), or Authorization: Bearer with the secret")

// verify checks a delivery by Standard Webhooks 1.0, or by the bearer secret. Any of the
// secrets and any of the signatures will do, so that both sides can rotate. A timestamp older
// than tolerance is refused, one ahead of our clock is not: what is sent again has no effect
// anyway. All comparisons take a time that doesn't depend on what is right.
func verify(h http.Header, body []byte, secrets []Secret, now time.Time, tolerance time.Duration) error {
	if bearer, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer "); ok {
		good := 0
		for _, s := range secrets {
			given, want := sha256.Sum256([]byte(bearer)), sha256.Sum256([]byte(s.text))
			good |= subtle.ConstantTimeCompare(given[:], want[:])
		}
		if good == 1 {
			return nil
		}
		return errors.New("the bearer secret is not the webhook's")
	}
	id, stamp, signatures := h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature")
	if id == "" || stamp == "" || signatures == "" {
		return errUnsigned
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("webhook-timestamp is %q; write seconds since 1970", stamp)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance {
		return fmt.Errorf("webhook-timestamp is %s old; sign within %s of sending", age.Round(time.Second), tolerance)
	}
	good := false
	for _, s := range secrets {
		mac := hmac.New(sha256.New, s.key)
		fmt.Fprintf(mac, "%s.%s.", id, stamp)
		mac.Write(body)
		want := mac.Sum(nil)
		for signature := range strings.FieldsSeq(signatures) {
			version, text, _ := strings.Cut(signature, ",")
			if given, err := base64.StdEncoding.DecodeString(text); err == nil && version == "v1" && hmac.Equal(given, want) {
				good = true
			}
		}
	}
	if !good {
		return errors.New("no signature is by the webhook's secret over id.timestamp.body")
	}
	return nil
}
