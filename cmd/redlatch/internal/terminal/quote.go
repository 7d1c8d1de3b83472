package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote shows a name that may be anybody's bytes. One that looks like a word stands as it is. Any other is in quotes, with
// what a terminal would obey, or would not show, as escapes of Go: "a\x1b[2J", "\u202eevil", "two words". No two names look
// the same to a program.
func Quote(name string) string {
	if name != "" && name[0] != '"' && !strings.ContainsRune(name, ' ') && !strings.ContainsRune(name, '\\') && harmless(name) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	escape(&b, name, `"\`)
	b.WriteByte('"')
	return b.String()
}

// Clean shows a text that is read and not typed, such as the name of a host: escapes without quotes.
func Clean(text string) string {
	if harmless(text) {
		return text
	}
	var b strings.Builder
	escape(&b, text, "")
	return b.String()
}

// harmless tells whether a terminal shows each rune as itself, in a cell or two.
func harmless(text string) bool {
	for i, r := range text {
		if !shows(r) || r == utf8.RuneError && strings.IndexByte(text[i:], 0xef) != 0 {
			return false
		}
	}
	return true
}

// shows tells whether a rune has a cell of its own: it is neither a control character, nor one that changes the direction, nor one
// that is drawn over the one before, nor a space that is not the ordinary one.
func shows(r rune) bool {
	return strconv.IsPrint(r) && !unicode.Is(unicode.M, r)
}

func escape(b *strings.Builder, text, also string) {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(b, `\x%02x`, text[0])
		case strings.ContainsRune(also, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case shows(r):
			b.WriteRune(r)
		case unicode.Is(unicode.M, r): // Go has them as they are
			if r > 0xffff {
				fmt.Fprintf(b, `\U%08x`, r)
			} else {
				fmt.Fprintf(b, `\u%04x`, r)
			}
		default:
			escaped := strconv.QuoteRune(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}
		text = text[size:]
	}
}

// Word is a text as one argument of a command line of a shell, bash or zsh for bytes that are not plain text.
func Word(text string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%"
	switch {
	case text != "" && strings.Trim(text, safe) == "":
		return text
	case harmless(text):
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default: // octal has three digits, so that what comes behind is not read as a part of it
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
