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
	flush := func() {
		if t := strings.TrimSpace(chunk.String()); t != "" {
			chunks = append(chunks, t)
		}
		chunk.Reset()
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
			flush()
			filled = 0
		}
		if n > most {
			parts, err := s.cut(sentence, most)
			if err != nil {
				return nil, err
			}
			for _, p := range parts {
				chunk.WriteString(p)
				flush()
			}
			continue
		}
		chunk.WriteString(sentence)
		filled += n
	}
	flush()
	return chunks, nil
}

// spare is left free in a piece of a sentence: counted by itself, without the space in front,
// its beginning may take other tokens than it took inside the sentence.
const spare = 8

// cut parts one long sentence. A character whose bytes are several tokens stays whole.
func (s splitter) cut(sentence string, most int) ([]string, error) {
	_, tokens, err := s.codec.Encode(sentence)
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
		if filled+held > most-spare && filled > 0 {
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
