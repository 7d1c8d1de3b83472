package quorum

// asked is called when somebody asks for a member. A composite is given back as a whole, so its own observer is told.
func (h *Hold) asked(who, why string) { h.told.Load().Asked(who, why) }
