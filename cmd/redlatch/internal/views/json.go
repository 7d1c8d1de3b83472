package views

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// JSON is a document on one line, or on many for people. It has escapes for everything that a terminal would obey.
func JSON(document any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if indent {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("cannot write the document: %w", err)
	}
	text := make([]byte, 0, b.Len())
	for _, r := range b.String() { // outside of strings there is ASCII only
		switch {
		case r == '\n' || strconv.IsPrint(r):
			text = utf8.AppendRune(text, r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			text = fmt.Appendf(text, `\u%04x\u%04x`, high, low)
		default:
			text = fmt.Appendf(text, `\u%04x`, r)
		}
	}
	return text, nil
}
