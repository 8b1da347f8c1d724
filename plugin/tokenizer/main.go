// Command tokenizer is the engine's custom tokenizer evorag_entity, built with
// -buildmode=plugin by the engine's own Go release and loaded with
// dgraph alpha --custom_tokenizers=evorag_entity.so. It links names of several words inside a
// question: anyof(name, evorag_entity, $q), where $q is entity.Question(text).
//
// It may import the standard library and plugin/entity only: a package that the engine holds in
// another version keeps the plugin from loading.
package main

import (
	"fmt"

	"github.com/evorag/dgraph-evorag/plugin/entity"
)

// Tokenizer is the symbol that the engine looks up.
func Tokenizer() interface{} { return tokenizer{} }

// tokenizer has the methods of Dgraph's tok.PluginTokenizer.
type tokenizer struct{}

// Name is what @index(...) and anyof() call it.
func (tokenizer) Name() string { return entity.Tokenizer }

// Type is the type of the predicates that it can index.
func (tokenizer) Type() string { return "string" }

// Identifier begins every token in the index; 0x80..0xff are for custom tokenizers. Changing it
// needs a new index.
func (tokenizer) Identifier() byte { return 0xe7 }

// Tokens gives the tokens of a stored value or of a question, see entity.Tokens.
func (tokenizer) Tokens(value interface{}) ([]string, error) {
	text, ok := value.(string)
	if !ok {
		return nil, fmt.Errorf("%s indexes strings, not %T; write @index(%[1]s) on a string predicate", entity.Tokenizer, value)
	}
	return entity.Tokens(text), nil
}

// main is never called; a plugin is a main package.
func main() {}
