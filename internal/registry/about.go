package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An About is what a client says about itself. It never has arguments, the environment, the user or a
// directory.
type About struct {
	Version int    `json:"v"`
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Program string `json:"program,omitempty"` // the base name of the executable
	Label   string `json:"label,omitempty"`   // of the program's own
	// the same for all clients of one process, and of no other: a pid is 1 in every container
	Instance string `json:"instance,omitempty"`
	Started  int64  `json:"started,omitempty"` // of the process

	Language string `json:"language,omitempty"` // "go", "java"
	Library  string `json:"library,omitempty"`  // "redlatch v1.0.0", "redisson 4.7.0"
	Runtime  string `json:"runtime,omitempty"`  // "go1.26.1"
	Client   string `json:"client,omitempty"`   // "go-redis v9.23.0"

	Timeout int64 `json:"timeout,omitempty"` // the watchdog's, in milliseconds
	Hears   bool  `json:"hears,omitempty"`   // each report finds out whether others ask for what the client holds
	Ended   bool  `json:"ended,omitempty"`   // the program has ended, and has left what it holds to its leases
}

// MostText is how many bytes of a text of an About count.
const MostText = 64

// Text is s as an About may have it: valid UTF-8 without control characters, at most [MostText] bytes.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
	for len(s) > MostText {
		_, last := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-last]
	}
	return s
}

// JSON is what stands in the entry.
func (a About) JSON() string {
	text, err := json.Marshal(a)
	if err != nil { // of numbers and strings there is none
		panic(err)
	}
	return string(text)
}

// mostAbout is how much of an About is read. Any program may have written it.
const mostAbout = 4096

// ParseAbout reads what stands in an entry, and makes its texts such as an About may have.
func ParseAbout(text string) (a About, err error) {
	if len(text) > mostAbout {
		return a, fmt.Errorf("what the client says about itself has %d bytes, more than %d", len(text), mostAbout)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return About{}, fmt.Errorf("what the client says about itself is no JSON object of the registry: %w", err)
	}
	for _, s := range []*string{&a.Host, &a.Program, &a.Label, &a.Instance, &a.Language, &a.Library, &a.Runtime,
		&a.Client} {
		*s = Text(*s)
	}
	return a, nil
}
