package plan

import (
	"github.com/evorag/dgraph-evorag/plugin/dql"
)

// fragment finds a fragment by name; nil where there is none.
func (b *builder) fragment(name string) *dql.Field {
	for _, f := range b.query.Fragments {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// variable is the value of "$name": as sent, else its default. An empty value counts as none.
func (b *builder) variable(name string) (string, bool) {
	if v := b.vars[name]; v != "" {
		return v, true
	}
	for _, d := range b.query.Vars {
		if d.Name == name && d.Default != "" {
			return d.Default, true
		}
	}
	return "", false
}

// key is the key under which a field's content comes back.
func key(f *dql.Field) string {
	if f.Alias != "" {
		return f.Alias
	}
	return f.Name
}
