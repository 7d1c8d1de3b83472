package notice

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many bytes of a notice's texts count.
const (
	mostWho = 64
	mostWhy = 256
)

// plain is a text of a notice as a program gets it: one line of what can be printed, so short. Whoever may
// write to Redis may have written it.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text[:min(len(text), 4*most)])
	for len(text) > most {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
	}
	return text
}
