package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxQuestionWords is how much of a question is searched for names.
const MaxQuestionWords = 64

// NGram is a run of words of a question, normalised as names are.
type NGram struct {
	Text       string
	Start, End int // question[Start:End] is the run as it was written, in bytes
	Words      int // 1..MaxWords
}

// NGrams gives every run of one to MaxWords words among the first MaxQuestionWords of a
// question, in the order of their start, longer ones first. A run that is one stop word ("who",
// "it") is left out, unless it's written as a name: in quotes or brackets, or with a capital
// inside the question ("Who directed It?"). At most MaxWords*MaxQuestionWords come back; nil
// for a question without words.
func NGrams(question string) []NGram {
	words := split(question)
	if len(words) > MaxQuestionWords {
		words = words[:MaxQuestionWords]
	}
	var grams []NGram
	for i := range words {
		for n := min(MaxWords, len(words)-i); n > 0; n-- {
			if n == 1 && stopWords[words[i].text] && !writtenAsName(question, words[i], i == 0) {
				continue
			}
			grams = append(grams, NGram{
				Text:  join(words[i : i+n]),
				Start: words[i].start,
				End:   words[i+n-1].end,
				Words: n,
			})
		}
	}
	return grams
}

func join(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// writtenAsName reads how a stop word stands in the question.
func writtenAsName(question string, w word, first bool) bool {
	before, _ := utf8.DecodeLastRuneInString(question[:w.start])
	after, _ := utf8.DecodeRuneInString(question[w.end:])
	if enclosing(before) && enclosing(after) {
		return true
	}
	r, size := utf8.DecodeRuneInString(question[w.start:])
	if first || !unicode.IsUpper(r) {
		return false
	}
	// "I" is always a capital; a question all in capitals says nothing.
	second, _ := utf8.DecodeRuneInString(question[w.start+size:])
	return w.end-w.start > size && !unicode.IsUpper(second)
}

func enclosing(r rune) bool {
	return strings.ContainsRune("\"'`[](){}<>«»‹›“”„‘’「」『』", r) && r != utf8.RuneError
}

// stopWords are the closed-class English words and the verbs of questions: too common to be
// taken for a name wherever they stand.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`
		a about after all also am an and any are as at be been before being but by can could did
		do does doing done each else ever every for from get give given gave had has have having he
		her here hers him his how i if in into is it its just know list made make many may me might
		more most much must my name no nor not now of off on one only or other our out over own same
		shall she should show so some such tell than that the their theirs them then there these they
		this those to too under up us very was we were what when where which while who whom whose
		why will with would you your yours`) {
		set[w] = true
	}
	return set
}()
