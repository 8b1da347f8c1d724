package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// NewLogger writes lines in format "text" or "json" from level "debug", "info", "warn" or
// "error" on. Other words are errors.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var from slog.Level
	if err := from.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log.level %q is unknown; write debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: from}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("log.format %q is unknown; write text or json", format)
}
