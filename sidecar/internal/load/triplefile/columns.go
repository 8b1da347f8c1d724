package triplefile

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// How people call the three parts, in a header or as keys of JSON.
var (
	headNames     = []string{"head", "subject", "source"}
	relationNames = []string{"relation", "predicate", "label"}
	objectNames   = []string{"object", "tail", "target"}
)

// parseTSV takes the fields as they stand: a quote is a quote.
func parseTSV(line string) (Statement, error) {
	return columns(strings.Split(line, "\t"), "head TAB relation TAB object")
}

// parseCSV reads one record of RFC 4180.
func parseCSV(line string) (Statement, error) {
	const want = "head,relation,object"
	if !strings.Contains(line, `"`) {
		return columns(strings.Split(line, ","), want)
	}
	fields, err := csv.NewReader(strings.NewReader(line)).Read()
	if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
		return Statement{}, fmt.Errorf(`%w; put the field in quotes and write a quote inside it twice: ""`, parse.Err)
	}
	if err != nil {
		return Statement{}, err
	}
	return columns(fields, want)
}

func columns(f []string, want string) (Statement, error) {
	if len(f) != 3 {
		return Statement{}, fmt.Errorf("%d columns instead of 3 (%s)", len(f), want)
	}
	return Statement{Head: Term{Value: f[0]}, Relation: Term{Value: f[1]}, Object: Term{Value: f[2]}}, nil
}

// parseJSON reads one object: head, relation and either object, a name, or value, a plain
// literal. Other keys are not looked at.
func parseJSON(line string) (Statement, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		return Statement{}, fmt.Errorf(`not a JSON object on one line (%w); write {"head": "...", "relation": "...", "object": "..."}`, err)
	}
	var s Statement
	ends := objectNames
	if _, literal := object["value"]; literal {
		ends, s.Object.Kind = []string{"value"}, Literal
		for _, name := range objectNames {
			if _, both := object[name]; both {
				return Statement{}, fmt.Errorf(`both %q and "value" are there; write "object" for a node's name or "value" for a text`, name)
			}
		}
	}
	for _, part := range []struct {
		names []string
		into  *string
	}{{headNames, &s.Head.Value}, {relationNames, &s.Relation.Value}, {ends, &s.Object.Value}} {
		raw, name, err := value(object, part.names)
		if err != nil {
			return Statement{}, err
		}
		if err := json.Unmarshal(raw, part.into); err != nil || string(raw) == "null" {
			return Statement{}, fmt.Errorf("%q is not a string", name)
		}
	}
	return s, nil
}

func value(object map[string]json.RawMessage, names []string) (json.RawMessage, string, error) {
	for _, name := range names {
		if raw, ok := object[name]; ok {
			return raw, name, nil
		}
	}
	return nil, "", fmt.Errorf("there is no %q", names[0])
}
