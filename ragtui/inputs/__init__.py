"""The frozen inputs: a corpus and goldens, read, validated and given content ids."""
