package scripts

// FromSource makes a script that is in no folder.
func FromSource(name, source string) *Script { return &Script{name: name, source: source, sha: "sha"} }

// Name is folder/operation.
func (s *Script) Name() string { return s.name }
