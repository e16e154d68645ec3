"""What a person looks at after a heat experiment: table, charts, picture."""
