package entity

import "strings"

// Tokenizer is the name under which the engine knows the index: name: string @index(evorag_entity).
const Tokenizer = "evorag_entity"

// QuestionMark begins a value that is a question, not a name. No name begins with this control
// character, and DQL and JSON carry it.
const QuestionMark = "\x01"

// maxOther bounds the token of a value that no question can name, in bytes.
const maxOther = 128

// Question gives the value that asks the index for the nodes named in a question:
// anyof(name, evorag_entity, Question("who directed The Matrix?")).
func Question(question string) string { return QuestionMark + question }

// Tokens gives the index tokens of a value. A stored name has those of Names; a value that begins
// with QuestionMark has the texts of NGrams, each once, so that the two share a token exactly
// where a name occurs in the question. A value that can't be found in a question (no letters, or
// more than MaxWords words) has one token of its own, by which eq() still finds it.
func Tokens(value string) []string {
	if question, ok := strings.CutPrefix(value, QuestionMark); ok {
		grams := NGrams(question)
		tokens := make([]string, 0, len(grams))
		seen := make(map[string]bool, len(grams))
		for _, g := range grams {
			if !seen[g.Text] {
				seen[g.Text] = true
				tokens = append(tokens, g.Text)
			}
		}
		return tokens
	}
	tokens := findable(value)
	if len(tokens) == 0 {
		return []string{QuestionMark + value[:min(len(value), maxOther)]}
	}
	return tokens
}

// Findable tells whether a stored name can be found in a question: it has letters or digits, and
// at most MaxWords words.
func Findable(name string) bool { return len(findable(name)) > 0 }

func findable(value string) []string {
	var forms []string
	for _, name := range Names(value) {
		if strings.Count(name, " ") < MaxWords {
			forms = append(forms, name)
		}
	}
	return forms
}
