// Package document writes what commands found out. Names, and what clients say about themselves, may be anybody's bytes: they
// never reach a terminal as they are, and JSON has them twice.
package document

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Name is a name in a JSON document. Text is it for people, with a replacement for each byte that is no UTF-8; Base64 is exact.
type Name struct {
	Text   string `json:"name"`
	Base64 string `json:"name_base64"`
}

// NameOf is the Name of these bytes.
func NameOf(name string) Name {
	return Name{strings.ToValidUTF8(name, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(name))}
}

// Quote is a name for a terminal: as it is, or as a Go string in quotes where it has a space, a quote, a backslash, or anything that
// is not printed or could move what stands beside it.
func Quote(name string) string {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, suspicious) {
		return strconv.QuoteToASCII(name)
	}
	return name
}

func suspicious(r rune) bool {
	return r == '"' || r == '\\' || r == '\'' || unicode.IsSpace(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Write writes one JSON document.
func Write(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}
