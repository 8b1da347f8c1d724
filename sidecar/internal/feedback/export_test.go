package feedback

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// RepairNow looks at all edges of the journal at once.
func (s *Service) RepairNow(ctx context.Context) error { return s.repair(ctx) }

// Failing is how many ratings could not be applied when they were last tried. Only after Run has ended.
func (s *Service) Failing() int { return len(s.failures) }

// Sign gives the Standard Webhooks headers for a delivery.
func (s Secret) Sign(id string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, s.key)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return h
}
