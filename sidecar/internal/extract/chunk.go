package extract

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/tiktoken-go/tokenizer/codec"
)

// splitter cuts text into chunks, counted in tokens of cl100k_base.
type splitter struct{ codec *codec.Codec }

func newSplitter() splitter { return splitter{codec.NewCl100kBase()} }

// split cuts a text into chunks of at most most tokens, between sentences (UAX #29) where it
// can, between tokens inside a sentence that is longer. Chunks have no space around them;
// together they hold every other character of the text, in order.
func (s splitter) split(text string, most int) ([]string, error) {
	var chunks []string
	var chunk strings.Builder
	flush := func() error {
		pieces, err := s.fit(chunk.String(), most, most-spare)
		chunks = append(chunks, pieces...)
		chunk.Reset()
		return err
	}
	filled, state := 0, -1
	for text != "" {
		var sentence string
		sentence, text, state = uniseg.FirstSentenceInString(text, state)
		n, err := s.codec.Count(sentence)
		if err != nil {
			return nil, fmt.Errorf("counting tokens: %w", err)
		}
		if filled+n > most {
			if err := flush(); err != nil {
				return nil, err
			}
			filled = 0
		}
		chunk.WriteString(sentence)
		filled += n
	}
	return chunks, flush()
}

// spare is left free in a piece of a sentence: counted by itself, without the space in front,
// its beginning may take other tokens than it took inside the sentence.
const spare = 8

// fit gives a chunk without space around it: in pieces of about fill tokens, none above most, where it has
// more than most, and not at all where it is empty.
func (s splitter) fit(chunk string, most, fill int) ([]string, error) {
	chunk = strings.TrimSpace(chunk)
	if chunk == "" {
		return nil, nil
	}
	n, err := s.codec.Count(chunk)
	if err != nil {
		return nil, fmt.Errorf("counting tokens: %w", err)
	}
	if n <= most || fill < 1 { // pieces of so few tokens have no more than most
		return []string{chunk}, nil
	}
	parts, err := s.cut(chunk, fill)
	if err != nil {
		return nil, err
	}
	var pieces []string
	for _, p := range parts { // a piece may have more tokens by itself than spare allows for
		fitting, err := s.fit(p, most, fill-spare)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, fitting...)
	}
	return pieces, nil
}

// cut parts a text after every fill tokens. A character whose bytes are several tokens stays whole.
func (s splitter) cut(text string, fill int) ([]string, error) {
	_, tokens, err := s.codec.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("counting tokens: %w", err)
	}
	var parts []string
	var part, pending strings.Builder
	filled, held := 0, 0
	for _, t := range tokens {
		pending.WriteString(t)
		held++
		if !utf8.ValidString(pending.String()) {
			continue
		}
		if filled+held > fill && filled > 0 {
			parts = append(parts, part.String())
			part.Reset()
			filled = 0
		}
		part.WriteString(pending.String())
		filled += held
		pending.Reset()
		held = 0
	}
	return append(parts, part.String()+pending.String()), nil
}
