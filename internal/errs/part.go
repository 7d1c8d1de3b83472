package errs

import "strings"

// prefix begins the text of each error that a program gets.
const prefix = "redlatch: "

// A part is an error within the text of another one.
type part struct {
	text string
	err  error
}

// Part is err for the text of another error, which begins with the name of the library and says what it is
// about: that is left out where err says it again.
func Part(err error, about string) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), prefix), about+": ")
	text = strings.ReplaceAll(strings.ReplaceAll(text, ": "+prefix, ": "), "\n"+prefix, "\n")
	return &part{text, err}
}

func (p *part) Error() string { return p.text }

// Unwrap is the error itself.
func (p *part) Unwrap() error { return p.err }
