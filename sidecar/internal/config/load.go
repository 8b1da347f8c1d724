package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// EnvPrefix begins every variable that is a setting: DGRAPH_EVORAG_HTTP_ADDR is http_addr.
// Others with this prefix are ignored: Kubernetes sets some for a service of our name.
const EnvPrefix = "DGRAPH_EVORAG_"

// Sources say where settings come from, besides the defaults.
type Sources struct {
	File  string              // path of a YAML file; empty: none
	Env   func(string) string // os.Getenv in production; nil: none
	Flags map[string]string   // by field path: "log.level" -> "debug"
}

// Load gathers the settings, reads the secrets they point to, and verifies the result.
// Errors name file, variable or flag and the field.
func Load(s Sources) (Config, error) {
	c := Default()
	if s.File != "" {
		if err := c.readFile(s.File); err != nil {
			return c, err
		}
	}
	if s.Env != nil {
		for path, field := range leaves(reflect.ValueOf(&c).Elem(), "") {
			name := EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
			if text := s.Env(name); text != "" {
				if err := set(field, text); err != nil {
					return c, fmt.Errorf("%s=%q: %w", name, text, err)
				}
			}
		}
		c.Login.Password = s.Env(EnvPrefix + "LOGIN_PASSWORD")
		c.LLM.APIKey = s.Env(EnvPrefix + "LLM_API_KEY")
		c.Embedding.APIKey = s.Env(EnvPrefix + "EMBEDDING_API_KEY")
		c.Access.Token = s.Env(EnvPrefix + "ACCESS_TOKEN")
	}
	for _, path := range slices.Sorted(maps.Keys(s.Flags)) {
		if err := c.Set(path, s.Flags[path]); err != nil {
			return c, err
		}
	}
	if err := c.Verify(); err != nil {
		return c, err
	}
	return c, c.readSecrets()
}

// readSecrets reads the files that hold secrets. A trailing newline is the editor's.
func (c *Config) readSecrets() error {
	if c.Login.PasswordFile != "" {
		b, err := os.ReadFile(c.Login.PasswordFile)
		if err != nil {
			return fmt.Errorf("login.password_file: %w", err)
		}
		c.Login.Password = strings.TrimRight(string(b), "\r\n")
	}
	if c.LLM.APIKeyFile != "" {
		b, err := os.ReadFile(c.LLM.APIKeyFile)
		if err != nil {
			return fmt.Errorf("llm.api_key_file: %w", err)
		}
		c.LLM.APIKey = strings.TrimSpace(string(b))
	}
	if c.Embedding.APIKeyFile != "" {
		b, err := os.ReadFile(c.Embedding.APIKeyFile)
		if err != nil {
			return fmt.Errorf("embedding.api_key_file: %w", err)
		}
		c.Embedding.APIKey = strings.TrimSpace(string(b))
	}
	if c.RetrievalKeyFile != "" {
		b, err := os.ReadFile(c.RetrievalKeyFile)
		if err != nil {
			return fmt.Errorf("retrieval_key_file: %w", err)
		}
		c.RetrievalKey = bytes.TrimRight(b, "\r\n")
	}
	if err := c.Access.readSecret(); err != nil {
		return err
	}
	if err := c.Evolution.readSecrets(); err != nil {
		return err
	}
	return c.Feedback.readSecrets()
}

// Set gives one field, named by its path ("log.level"), the value that the text says.
func (c *Config) Set(path, text string) error {
	for p, field := range leaves(reflect.ValueOf(c).Elem(), "") {
		if p == path {
			if err := set(field, text); err != nil {
				return fmt.Errorf("%s=%q: %w", path, text, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%s is not a setting", path)
}

// YAML is the configuration as a file that Load reads back; it holds no secret.
func (c Config) YAML() ([]byte, error) {
	c.Dgraph = redacted(c.Dgraph)
	return yaml.Marshal(c)
}

func (c *Config) readFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	err = yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(c)
	if err == nil || errors.Is(err, io.EOF) { // EOF: an empty file
		return nil
	}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		pos := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", path, pos.Line, pos.Column, at.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

// leaves walks the fields that hold a value, by their dotted yaml path.
func leaves(v reflect.Value, prefix string) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag.Get("yaml")
			if tag == "-" {
				continue
			}
			if f := v.Field(i); f.Kind() != reflect.Struct {
				if !yield(prefix+tag, f) {
					return
				}
				continue
			}
			for p, f := range leaves(v.Field(i), prefix+tag+".") {
				if !yield(p, f) {
					return
				}
			}
		}
	}
}

// set parses the text into the field. Lists are separated by commas.
func set(field reflect.Value, text string) error {
	switch p := field.Addr().Interface().(type) {
	case *string:
		*p = text
	case *[]string:
		*p = nil
		for s := range strings.SplitSeq(text, ",") {
			*p = append(*p, strings.TrimSpace(s))
		}
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("write a duration, for instance 5s")
		}
		*p = d
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("write a number")
		}
		*p = n
	case *int:
		return parseInt(text, strconv.IntSize, func(n int64) { *p = int(n) })
	case *int64:
		return parseInt(text, 64, func(n int64) { *p = n })
	case *uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return errors.New("write a whole number from 0 on")
		}
		*p = n
	default:
		return fmt.Errorf("a field of type %s can't be set from text", field.Type())
	}
	return nil
}

func parseInt(text string, bits int, put func(int64)) error {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return errors.New("write a whole number")
	}
	put(n)
	return nil
}
